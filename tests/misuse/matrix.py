#!/usr/bin/env python3
"""Runs every fault of the corpus on every component, and says what becomes of it.

  matrix.py --programs DIR --drop-in LIB --check     compares ashlar's outcomes with expected.csv; 1 if one differs
  matrix.py --programs DIR --drop-in LIB --accept    writes them to expected.csv
  matrix.py --check-page PAGE                        1 if the page's tables of ashlar are not those of expected.csv
  matrix.py --write PAGE                             writes them; with --programs and --drop-in the peers' too

What there is to run is in matrix.json: faults, components, levels, peers. A further level of the heap is one more
line there and an --accept. DIR has the corpus' programs (target misuse_corpus; misuse_page builds the peers' too).
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import csv
import dataclasses
import io
import json
import os
import pathlib
import platform
import re
import resource
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MATRIX = HERE / "matrix.json"
EXPECTED = HERE / "expected.csv"
TIMEOUT_SECONDS = 20
PEER_ROUNDS = 100

FAULTS_OF_ASHLAR = HERE.parent.parent / "ashlar/core/fault.hpp"
MESSAGE = re.compile(r"^ashlar: [^\n(]+\((0x[0-9a-f]+)\): ([^\n]*)$", re.MULTILINE)
# What the C++ library says by itself is no allocator's message.
LIBRARY_NOISE = re.compile(r"^(terminate called|  what\(\):)")

# From the worst to the best; the words of the page.
OUTCOMES = {
    "broken": "the corpus itself is at fault",
    "hung": "no end within the time",
    "damage": "no message, and another owner's bytes changed, one address got two owners, or the allocator's own data broke",
    "reported late": "a message, but such damage came first",
    "died": "a signal, no message and no damage before it",
    "silent": "no message; no damage was seen",
    "reported": "a message before any damage",
    "harmless": "the misuse does what its caller meant, or nothing",
    "n/a": "the component has no such call or policy",
}


@dataclasses.dataclass(frozen=True)
class Run:
    """What a child did. `code` is negative for a signal, None where the time was over."""
    out: str
    err: str
    code: int | None


@dataclasses.dataclass(frozen=True)
class Cell:
    outcome: str
    lacks: str = ""  # what the message does not say, joined by +
    seen: str = ""   # what a read saw


@dataclasses.dataclass(frozen=True)
class Column:
    """A component at a level, or a peer."""
    component: str
    level: str
    title: str
    program: str
    argument: str
    preload: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    pool: str = ""
    is_ours: bool = True


# ---- what there is to run -----------------------------------------------------------------------------


def load() -> dict:
    return json.loads(MATRIX.read_text())


def our_columns(matrix: dict) -> list[Column]:
    columns = []
    for table in matrix["tables"]:
        for level in table["levels"]:
            for c in table["components"]:
                if level["name"] not in c.get("levels", [level["name"]]):
                    continue
                columns.append(Column(
                    component=c["name"], level=level["name"], title=c["title"], program=c["program"],
                    argument=c["name"] + level.get("suffix", ""), preload=c.get("preload", ""),
                    environment=tuple(level.get("environment", {}).items()), pool=c.get("pool", "")))
    return columns


def peer_columns(matrix: dict) -> list[Column]:
    return [Column(component=p["title"], level="", title=p["title"], program=p["program"], argument=p["name"],
                   preload=p.get("preload", "").format(machine=platform.machine()),
                   environment=tuple(p.get("environment", {}).items()), is_ours=False)
            for p in matrix["peers"]]


def sentences() -> dict[str, str]:
    """What ashlar's messages say, by kind: from where they are."""
    found = dict(re.findall(r'case fault_kind::(\w+):\s*return "([^"]*)";', FAULTS_OF_ASHLAR.read_text()))
    if not found:
        sys.exit(f"matrix: no sentences in {FAULTS_OF_ASHLAR}")
    return found


SENTENCES = sentences()


# ---- one cell -----------------------------------------------------------------------------------------


def no_core_file() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(column: Column, fault: str, programs: pathlib.Path, drop_in: str) -> Run:
    # Not the caller's settings of any allocator.
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("ASHLAR_", "MALLOC_", "GLIBC_TUNABLES", "SCUDO_", "MIMALLOC_", "LD_PRELOAD"))}
    environment.update(column.environment)
    if column.preload:
        environment["LD_PRELOAD"] = drop_in if column.preload == "drop-in" else column.preload
    with subprocess.Popen([programs / column.program, column.argument, fault], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", preexec_fn=no_core_file) as child:
        try:
            out, err = child.communicate(timeout=TIMEOUT_SECONDS)
            return Run(out, err, child.returncode)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            return Run(out, err, None)


def addresses(text: str) -> set[int]:
    return {int(a, 16) for a in re.findall(r"0x([0-9a-f]+)", text)}


def our_message(done: Run, fault: dict, pool: str) -> tuple[bool, str]:
    """Whether ashlar reported, and what its best line does not say of: what, address, pool, block size."""
    misused = addresses("\n".join(line for line in done.out.splitlines() if line.startswith("misused: ")))
    shortest: list[str] | None = None
    for address, rest in MESSAGE.findall(done.err):
        kinds = [kind for kind, sentence in SENTENCES.items() if sentence in rest]
        if not kinds:
            continue  # a setting that is ignored, say
        lacks = []
        if kinds[0] not in fault["says"]:
            lacks.append("what")
        # A leak has no address, and says how many blocks there are instead.
        if not (re.search(r", blocks \d+", rest) if kinds[0] == "leak" else int(address, 16) in misused):
            lacks.append("address")
        if pool and f"pool '{pool}'" not in rest:
            lacks.append("pool")
        # A foreign address is in no block.
        if kinds[0] != "foreign_pointer" and not re.search(r", block size \d+", rest):
            lacks.append("block size")
        if shortest is None or len(lacks) < len(shortest):
            shortest = lacks
    return shortest is not None, "+".join(shortest or [])


def classify(done: Run, fault: dict, pool: str, is_ours: bool) -> Cell:
    """The judgement of one child."""
    lines = done.out.splitlines()
    said = {label: [line[len(label) + 2:] for line in lines if line.startswith(label + ": ")]
            for label in ("misused", "damage", "seen", "harmless", "not applicable", "broken")}
    if said["not applicable"]:
        return Cell("n/a")
    if done.code is None:
        return Cell("hung")
    ended = "ended: " in lines
    if said["broken"] or not said["misused"] or (done.code == 0 and not ended):
        return Cell("broken")
    if is_ours:
        reported, lacks = our_message(done, fault, pool)
    else:
        reported = any(line.strip() and not LIBRARY_NOISE.match(line) for line in done.err.splitlines())
        lacks = ""
    seen = said["seen"][0] if said["seen"] and ended else ""
    if reported:
        return Cell("reported late" if said["damage"] else "reported", lacks, seen)
    if said["damage"]:
        return Cell("damage", "", seen)
    if done.code < 0:
        return Cell("died")
    if done.code != 0:
        return Cell("broken")
    return Cell("harmless" if said["harmless"] else "silent", "", seen)


Results = dict[tuple[str, str, str], Cell]  # by component, level, fault


def run_all(columns: list[Column], faults: list[dict], programs: pathlib.Path, drop_in: str) -> Results:
    jobs = [(c, f) for c in columns for f in faults]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        cells = pool.map(lambda job: classify(run(job[0], job[1]["name"], programs, drop_in), job[1], job[0].pool,
                                              job[0].is_ours), jobs)
        return {(c.component, c.level, f["name"]): cell for (c, f), cell in zip(jobs, cells)}


def missing(columns: list[Column], programs: pathlib.Path, drop_in: str) -> list[str]:
    """What is not there to run, each with its remedy."""
    faults = []
    for c in columns:
        remedy = "run scripts/setup.sh misuse, configure again and build the target misuse_page"
        if not (programs / c.program).is_file():
            faults.append(f"no program {programs / c.program}: {remedy}")
        if c.preload == "drop-in" and not pathlib.Path(drop_in).is_file():
            faults.append(f"no library {drop_in!r}: build the target ashlar_malloc and name it by --drop-in")
        elif c.preload.startswith("/") and not pathlib.Path(c.preload).is_file():
            faults.append(f"no library {c.preload}: {remedy}")
    return sorted(set(faults))


def unlisted(matrix: dict, programs: pathlib.Path) -> list[str]:
    """What the programs have and matrix.json has not, or the other way round."""
    listed: dict[str, set[str]] = {}
    for c in our_columns(matrix):
        listed.setdefault(c.program, set()).add(c.argument)
    faults = []
    for program, arguments in listed.items():
        usage = subprocess.run([programs / program], capture_output=True, text=True, check=False).stderr
        for kind, names in (("components", arguments), ("faults", {f["name"] for f in matrix["faults"]})):
            line = re.search(rf"^{kind}:(.*)$", usage, re.MULTILINE)
            has = set(line[1].split()) if line else set()
            if has != names:
                faults.append(f"{program} and matrix.json differ in {kind}: {', '.join(sorted(has ^ names))}")
    return faults


def not_loaded(columns: list[Column], programs: pathlib.Path, drop_in: str) -> list[str]:
    """Libraries that the dynamic loader leaves out, which it says in one line and goes on without."""
    return [f"{c.preload} cannot be preloaded: run scripts/setup.sh misuse" for c in columns
            if c.preload and "cannot be preloaded" in run(c, "none", programs, drop_in).err]


# ---- the expected outcomes ----------------------------------------------------------------------------


FIELDS = ["component", "level", "fault", "outcome", "lacks", "seen"]


def read_expected(text: str) -> Results:
    return {(r["component"], r["level"], r["fault"]): Cell(r["outcome"], r["lacks"], r["seen"])
            for r in csv.DictReader(io.StringIO(text))}


def write_expected(results: Results) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([*key, cell.outcome, cell.lacks, cell.seen] for key, cell in results.items())
    return out.getvalue()


def differences(expected: Results, observed: Results) -> list[str]:
    def words(cell: Cell | None) -> str:
        return "no cell" if cell is None else " / ".join(w for w in dataclasses.astuple(cell) if w)
    return [f"{component}, {level}, {fault}: expected {words(expected.get(key))}, is {words(observed.get(key))}"
            for key in dict.fromkeys([*expected, *observed])
            for component, level, fault in [key] if expected.get(key) != observed.get(key)]


# ---- the page -----------------------------------------------------------------------------------------


WORDS = {"damage": "**damage**", "reported late": "*late*", "n/a": "–", "died": "**died**", "hung": "**hung**"}


def table_of(header: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(r) + " |" for r in rows)]


def shown(faults: list[dict]) -> list[dict]:
    return [f for f in faults if f["name"] != "none"]


def words_table() -> list[str]:
    return table_of(["word", "meaning"], [[WORDS.get(o, o), meaning] for o, meaning in OUTCOMES.items() if o != "broken"])


def not_caught(matrix: dict, results: Results) -> list[str]:
    """For each level what is not reported before it does harm; the worst first."""
    lines = []
    for table in matrix["tables"]:
        for level in table["levels"]:
            lines += [f"**{table['title']}, {level['name']}**", ""]
            for outcome in ("hung", "damage", "died", "reported late", "silent"):
                texts = []
                for fault in shown(matrix["faults"]):
                    cells = {c["title"]: results[key] for c in table["components"]
                             if (key := (c["name"], level["name"], fault["name"])) in results}
                    cells = {title: cell for title, cell in cells.items() if cell.outcome != "n/a"}
                    which = [title for title, cell in cells.items() if cell.outcome == outcome]
                    if which:
                        texts.append(fault["title"] + ("" if len(which) == len(cells) else f" ({', '.join(which)})"))
                if texts:
                    lines += [f"- {WORDS.get(outcome, outcome)}: " + "; ".join(texts)]
            lines += [""]
    return lines[:-1]


def cell_word(cell: Cell) -> str:
    return WORDS.get(cell.outcome, cell.outcome) + (" ¹" if cell.lacks else "")


def our_tables(matrix: dict, results: Results) -> list[str]:
    lines = []
    for table in matrix["tables"]:
        for level in table["levels"]:
            used = [c for c in table["components"] if level["name"] in c.get("levels", [level["name"]])]
            rows = [[f["title"], *(cell_word(results[c["name"], level["name"], f["name"]]) for c in used)]
                    for f in shown(matrix["faults"])]
            lines += [f"### {table['title']}: {level['name']}", "", *table_of(["fault", *(f"`{c['title']}`"
                                                                               for c in used)], rows), ""]
    lacking: dict[tuple[str, str, str], list[str]] = {}
    titles = {f["name"]: f["title"] for f in matrix["faults"]}
    for (component, level, fault), cell in results.items():
        if cell.lacks:
            lacking.setdefault((titles[fault], level, cell.lacks), []).append(component)
    lines += ["### ¹ Messages that say less than fault, address, pool and block size", "",
              *table_of(["fault", "level", "does not say", "of"],
                        [[fault, level, lacks.replace("+", ", "), ", ".join(f"`{c}`" for c in which)]
                         for (fault, level, lacks), which in lacking.items()])]
    return lines


def seen_table(matrix: dict, results: Results) -> list[str]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for table in matrix["tables"]:
        for level in table["levels"]:
            for c in table["components"]:
                reads = [results.get((c["name"], level["name"], f)) for f in ("use_after_free_read",
                                                                              "uninitialised_read")]
                if all(reads):
                    seen = (table["title"] + ": " + level["name"], *(r.seen or "–" for r in reads))
                    groups.setdefault(seen, []).append(f"`{c['title']}`")
    return table_of(["level", "a freed block", "a fresh block", "of"],
                    [[*seen, ", ".join(which)] for seen, which in groups.items()])


def shares(outcomes: collections.Counter[str]) -> str:
    """The worst first; each with its share, where the rounds were not of one mind."""
    order = [o for o in OUTCOMES if outcomes[o]]
    if len(order) == 1:
        return WORDS.get(order[0], order[0])
    return ", ".join(f"{WORDS.get(o, o)} {100 * outcomes[o] / outcomes.total():.0f} %" for o in order)


def version_of(package: str) -> str:
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else "(version unknown)"


def peers_table(matrix: dict, rounds: list[Results]) -> list[str]:
    """Several rounds: what some peers do depends on where the system puts memory, or on dice of their own."""
    titles = [p["title"] for p in matrix["peers"]]
    rows = []
    for fault in shown(matrix["faults"]):
        cells = [collections.Counter(r[t, "", fault["name"]].outcome for r in rounds) for t in titles]
        if any(set(c) != {"n/a"} for c in cells):
            rows.append([fault["title"], *map(shares, cells)])
    about = [[p["title"], f"`{p['package']}` {version_of(p['package'])}",
              ", ".join(f"`{k}={v}`" for k, v in p.get("environment", {}).items()) or "–"] for p in matrix["peers"]]
    return [*table_of(["fault", *titles], rows), "", f"{len(rounds)} runs of each cell.", "",
            *table_of(["peer", "Debian package", "environment"], about)]


def replace_part(page: str, name: str, lines: list[str]) -> str:
    """The page with what stands between `<!-- matrix: name -->` and `<!-- end -->` exchanged."""
    begin, end = f"<!-- matrix: {name} -->\n", "<!-- end -->"
    head, mark, rest = page.partition(begin)
    if not mark or end not in rest:
        sys.exit(f"matrix: the page has no part '{begin.strip()}' ... '{end}'")
    return head + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


def with_our_parts(page: str, matrix: dict, results: Results) -> str:
    page = replace_part(page, "words", words_table())
    page = replace_part(page, "not caught", not_caught(matrix, results))
    page = replace_part(page, "tables", our_tables(matrix, results))
    return replace_part(page, "seen", seen_table(matrix, results))


# -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--drop-in", default="", metavar="LIB")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--accept", action="store_true")
    action.add_argument("--check-page", type=pathlib.Path, metavar="PAGE")
    action.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    matrix = load()

    def run_columns(columns: list[Column], rounds: int) -> list[Results]:
        if options.programs is None:
            sys.exit("matrix: to run the corpus, name its programs' folder by --programs")
        programs, drop_in = options.programs.resolve(), str(pathlib.Path(options.drop_in).resolve())
        faults = missing(columns, programs, drop_in) or not_loaded(columns, programs, drop_in)
        if faults:
            sys.exit("\n".join(f"matrix: {f}" for f in faults))
        if columns[0].is_ours:
            faults = unlisted(matrix, programs)
            if faults:
                sys.exit("\n".join(f"matrix: {f}" for f in faults))
        return [run_all(columns, matrix["faults"], programs, drop_in) for _ in range(rounds)]

    if options.check or options.accept:
        [observed] = run_columns(our_columns(matrix), 1)
        if options.accept:
            EXPECTED.write_text(write_expected(observed))
            return 0
        faults = differences(read_expected(EXPECTED.read_text()), observed)
        print("\n".join(faults) if faults else f"{len(observed)} cells as expected")
        if faults:
            print(f"matrix: {len(faults)} of {len(observed)} cells differ; where the change is meant: --accept, then "
                  "--write docs/misuse.md")
        return 1 if faults else 0

    expected = read_expected(EXPECTED.read_text())
    page_file = options.check_page or options.write
    page = page_file.read_text()
    new_page = with_our_parts(page, matrix, expected)
    if options.check_page:
        if page != new_page:
            print(f"matrix: {page_file} is not what tests/misuse/expected.csv gives; run tests/misuse/matrix.py --write "
                  f"{page_file}")
        return int(page != new_page)
    if options.programs is not None:
        new_page = replace_part(new_page, "peers", peers_table(matrix, run_columns(peer_columns(matrix), PEER_ROUNDS)))
    page_file.write_text(new_page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
