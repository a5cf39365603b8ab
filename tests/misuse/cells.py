"""One run of a program that commits a fault, and the word for what became of it.

A column is what the fault happens to: a component of ashlar at a level of its checks (corpus.json: programs of corpus/),
or an allocator that is preloaded (malloc.json: malloc.c). All are programs of faults.c, which says how they tell what they
see (judge).
"""
from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))
import check_peers  # noqa: E402

SECONDS = 20  # A run takes some milliseconds.
DATA_BYTES = 4 << 30  # A run takes some 200 MiB.
SETTINGS = ("ASHLAR_", "MALLOC_", "GLIBC_TUNABLES", "SCUDO_", "MIMALLOC_", "TCMALLOC_", "LD_PRELOAD")
MESSAGE = re.compile(r"ashlar: [^\n(]+\((0x[0-9a-f]+)\): ([^\n]*)$")
FAULTS_OF_ASHLAR = ROOT / "ashlar/core/fault.hpp"

# From the worst to the best.
OUTCOMES = {
    "broken": "the program of the test is itself at fault",
    "hung": "no end within the time",
    "damage": "no message; bytes of another owner changed, or an address got two owners",
    "late": "a message or an abort, but such damage came first",
    "died": "another signal, after the fault, without a message or damage before it",
    "visible": "no message; old contents were read, or the next address was as foretold",
    "silent": "no message, no damage",
    "later": "a message or an abort after the fault and before any damage",
    "stopped": "another signal at the faulty call or access, without a message",
    "at once": "a message or an abort at the faulty call or access",
    "harmless": "the request was refused, or old contents and the next address stay hidden",
    "not measured": "the library was not there",
    "n/a": "the component has no such call or policy",
}
RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}
BY_INTENT = {-6, -4, -5}  # SIGABRT, SIGILL, SIGTRAP: an allocator ends the program by these


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    library: str = ""  # to preload; empty: none
    environment: tuple[tuple[str, str], ...] = ()
    version: str = ""
    is_there: bool = True
    says: bool = False  # its messages are ashlar's; without that, any line and any abort is a message
    reserves: bool = False  # more addresses than the limit of memory; such a run has no limit
    random: bool = False  # two runs of a cell may differ
    program: str = "malloc_faults"  # malloc_faults_O0, ... by the fault's level
    component: str = "malloc"  # as the program calls it
    pool: str = ""  # which ashlar's messages have to name

    def command(self, fault: Fault, programs: pathlib.Path) -> list[str]:
        return [str(programs / f"{self.program}_{fault.level}"), self.component, fault.name, str(fault.size)]


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    size: int
    level: str
    says: tuple[str, ...] | None = dataclasses.field(default=None, compare=False)  # the kinds that a message may tell


Outcomes = dict[tuple[str, Fault], set[str]]  # by column and fault


def load(name: str) -> dict:
    return json.loads((HERE / f"{name}.json").read_text())


def faults(table: dict) -> list[Fault]:
    return [Fault(name, size, level, tuple(row["says"]) if "says" in row else None)
            for row in [{"faults": ["none"]}, *table["rows"]] for name in row["faults"] for level in table["levels"] for size in row.get("sizes", table["sizes"])]


def faults_checked(table: dict) -> list[Fault]:
    """Each fault at each size, by turns at one level and the other: all but a few cells are the same at both."""
    names = list(dict.fromkeys(f.name for f in faults(table)))
    levels = table["levels"]
    return [f for f in faults(table)
            if (names.index(f.name) + table["sizes"].index(f.size)) % len(levels) == levels.index(f.level)]


def programs_counted(table: dict) -> list[Fault]:
    """One for each fault and size. What only tells an attacker something is no fault that could be caught."""
    counted = {name for row in table["rows"] if row.get("counts", True) for name in row["faults"]}
    return [f for f in faults(table) if f.name in counted and f.level == table["levels"][-1]]


def ours(table: dict, libraries: pathlib.Path) -> list[Column]:
    """Effects: ends the process if a library is missing. A cell of ours is never left out."""
    components = [Column(f"{c['name']}, {level['name']}", says=True, program=c["program"],
                         environment=tuple(level.get("environment", {}).items()),
                         component=c["name"] + level.get("suffix", ""), pool=c.get("pool", ""))
                  for group in table.get("groups", []) for level in group["levels"] for c in group["components"]]
    allocators = [Column(a["name"], str(libraries.resolve() / a["library"]), tuple(a.get("environment", {}).items()),
                         says=True, random=a.get("random", False)) for a in table.get("ours", [])]
    for a in allocators:
        if not pathlib.Path(a.library).is_file():
            sys.exit(f"misuse: no library {a.library}: build the drop-in library, and name its folder by --libraries")
    return components + allocators


def peers(table: dict) -> list[Column]:
    known = {p["name"]: p for p in check_peers.read_peers()}
    found = []
    for a in table["peers"]:
        peer = known[a["peer"]] if "peer" in a else {
            "libraries": [a["library"]],
            "version": {"package": a["package"]} if "package" in a else
                       {"crate": a["crate"], "version": check_peers.locked_versions()[a["crate"]]}}
        library = check_peers.find_library(peer)
        found.append(Column(a["name"], library or "", tuple(a.get("environment", {}).items()),
                            version_of(peer["version"]), library is not None, reserves=a.get("reserves", False)))
        if library is None:
            print(f"misuse: {a['name']} is not measured; remedy: {check_peers.remedy(peer)}", file=sys.stderr)
    return found


def version_of(version: dict) -> str:
    if "crate" in version:
        return f"{version['crate']} {version['version']}"
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", version["package"]], capture_output=True, text=True,
                          check=False)
    return f"{version['package']} {done.stdout}".strip()


def sentences() -> dict[str, str]:
    """What ashlar's messages say, by kind: from where they are."""
    describe = FAULTS_OF_ASHLAR.read_text().partition(" describe(")[2].partition("\n}")[0]
    found = dict(re.findall(r'case fault_kind::(\w+):\s*return "([^"]*)";', describe))
    return found or sys.exit(f"misuse: no sentences in {FAULTS_OF_ASHLAR}")


SENTENCES = sentences()


def run(column: Column, fault: Fault, programs: pathlib.Path) -> tuple[str, int | None]:
    """Returns: all that was said, in its order, and the exit code. It is None where the time was over."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(SETTINGS)} | dict(column.environment)
    if column.library:
        environment["LD_PRELOAD"] = column.library
    with subprocess.Popen(column.command(fault, programs), env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as child:
        if not column.reserves:
            resource.prlimit(child.pid, resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
        try:
            return child.communicate(timeout=SECONDS)[0], child.returncode
        except subprocess.TimeoutExpired:
            child.kill()
            return child.communicate()[0], None


def events_of(said: str) -> list[tuple[str, str]]:
    """Lines of the program begin with a bar and a label. Every other line is a message."""
    return [tuple((line[2:].split(" ", 1) + [""])[:2]) if line.startswith("| ") else ("message", line)
            for line in said.splitlines() if line.strip()]


def judge(said: str, code: int | None, says: bool = False) -> str:
    """The word for one run. With `says` a message has to be one of ashlar's, and an abort alone is none."""
    events = events_of(said)
    labels = [label for label, _ in events]
    if "inapplicable" in labels:
        return "n/a"
    if code is not None and code >= 0 and "ended" not in labels and "message" not in labels:
        return "broken"
    if "next" not in labels or "broken" in labels or "message" in labels[:labels.index("next")]:
        return "broken"
    if code is None:
        return "hung"
    if says and not any(label == "message" and MESSAGE.match(text) for label, text in events):
        labels = [label for label in labels if label != "message"]
    elif code in BY_INTENT:
        labels.append("message")
    end = labels.index("back") if "back" in labels else len(labels)
    if "message" in labels[:end]:
        return "at once"
    if "back" not in labels:
        return "stopped"
    if "message" in labels:
        return "late" if "damage" in labels[:labels.index("message")] else "later"
    if "damage" in labels:
        return "damage"
    if code != 0:
        return "died"
    return next((word for word in ("visible", "harmless") if word in labels), "silent")


def lacks(said: str, fault: Fault, pool: str) -> str:
    """What ashlar's best message does not say of: what, address, pool, block size."""
    events = events_of(said)
    misused = {text for label, text in events if label in ("next", "block")}
    found = []
    for told in (MESSAGE.match(text) for label, text in events if label == "message"):
        if not told:
            continue  # a setting that is ignored, say
        address, rest = told.groups()
        kind = next((kind for kind, sentence in SENTENCES.items() if sentence in rest), "")
        found.append([what for what, is_said in {
            "what": kind in fault.says,
            # A leak has no address, and says how many blocks there are instead.
            "address": re.search(r", blocks \d+", rest) if kind == "leak" else address in misused,
            "pool": f"pool '{pool}'" in rest or not pool,
            # A foreign address is in no block.
            "block size": kind == "foreign_pointer" or re.search(r", block size \d+", rest)}.items() if not is_said])
    return "+".join(min(found, key=len, default=[]))


def cell(said: str, code: int | None, column: Column, fault: Fault) -> str:
    """The word, and of a component what the message lacks."""
    outcome = judge(said, code, column.says)
    lack = lacks(said, fault, column.pool) if fault.says is not None else ""
    return f"{outcome} / {lack}" if lack else outcome


def measure(column: Column, fault: Fault, programs: pathlib.Path) -> str:
    def offsets(said: str) -> str:
        return next((line for line in said.splitlines() if line.startswith("| offsets ")), "")

    said, code = run(column, fault, programs)
    outcome = cell(said, code, column, fault)
    if outcome == "silent" and offsets(said):
        return "visible" if offsets(said) == offsets(run(column, fault, programs)[0]) else "harmless"
    return outcome


def measure_all(columns: list[Column], which: list[Fault], programs: pathlib.Path, rounds: int = 1) -> Outcomes:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a preexec_fn would keep Python from its quick way to start them
    jobs = [(c, f) for c in columns if c.is_there for f in which] * rounds
    found: Outcomes = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (c, f), outcome in zip(jobs, pool.map(lambda job: measure(*job, programs), jobs)):
            found[c.name, f].add(outcome)
    found.update({(c.name, f): {"not measured"} for c in columns if not c.is_there for f in which})
    return found
