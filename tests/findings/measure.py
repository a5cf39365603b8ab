#!/usr/bin/env python3
"""How right `ashlar report --text` is: records small programs with known wastes and clean ones, and compares.

A program is what follows a line `// NAME: what it does` of {planted,clean,later}.{cpp,c}.
A comment `planted: KIND` in a planted program stands at the line that has to be found, or at most two
lines below it (where a statement has several). `missed: KIND` is a waste that the rules are known not to
find. `allocator: ashlar` is a program that runs on ashlar. `wrong: KIND` is a finding that nobody planted, and that counts as wrong. The clean programs have neither. Those
of later.* were written when the rules were settled, and no rule was changed for them, so they say more about other programs; some have wastes and some (clean_*) have none.

Usage: measure.py ASHLAR FOLDER [--write FILE]   FOLDER has the built programs; FILE gets the table.
Ends with 1 where a planted waste is not found, a missed one is, or something else is, in two recordings.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import dataclasses
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMMENT = re.compile(r"(planted|missed|wrong): ([a-z_]+)")
HEADING = re.compile(r"^// (\w+): ")
FOLDERS = ("planted", "clean", "later")
LINES_BELOW = 2  # where the comment may stand


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    folder: str
    command: tuple[str, ...]
    wastes: tuple[tuple[str, int, str], ...]  # kind, line, word
    on: tuple[str, ...]                       # the option that puts it on an allocator

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


def programs_of(source: pathlib.Path, built: pathlib.Path) -> list[Program]:
    text = source.read_text().splitlines()
    begins = [(line, found[1]) for line, row in enumerate(text, 1) if (found := HEADING.match(row))]
    binary = str(built / source.name.replace(".", "_"))
    programs = []
    for (line, name), (end, _) in zip(begins, [*begins[1:], (len(text) + 1, "")]):
        wastes = tuple((kind, at, word) for at in range(line, end) for word, kind in COMMENT.findall(text[at - 1]))
        on = ("--on", "ashlar") if any("allocator: ashlar" in row for row in text[line - 1:end - 1]) else ()
        programs.append(Program(name, source.stem, (binary, name), wastes, on))
    return programs


@dataclasses.dataclass
class Result:
    program: Program
    found: list[str] = dataclasses.field(default_factory=list)    # "kind at line"
    missed: list[str] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)  # what the comments do not say


def findings_of(ashlar: pathlib.Path, program: Program) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        def run(*words: str) -> None:
            ended = subprocess.run([str(ashlar), *words], cwd=folder, capture_output=True, text=True, timeout=120)
            if ended.returncode != 0:
                sys.exit(f"{program}: ashlar {words[0]} ended with {ended.returncode}: {ended.stderr}")
        run("record", *program.on, "--stacks", "-o", "run.atrace", "--", *program.command)
        run("report", "--text", "--json=found.json", "run.atrace")
        return json.loads((pathlib.Path(folder) / "found.json").read_text())["findings"]["findings"]


def compare(program: Program, findings: list[dict]) -> Result:
    result, wastes = Result(program), program.wastes
    open_findings = [(f["kind"], int(place["source"].rsplit(":", 1)[1])) for f in findings
                     for place in [f["site"], *f["also"]] if place["source"]]
    open_findings += [(f["kind"], 0) for f in findings if not f["site"]["source"]]
    for kind, line, word in wastes:
        if word == "wrong":
            continue
        match = next((f for f in open_findings if f[0] == kind and line - LINES_BELOW <= f[1] <= line), None)
        (result.missed if match is None else result.found).append(f"{kind} at {line}")
        if match is not None:
            open_findings.remove(match)
        if (match is None) != (word == "missed"):
            result.faults.append(f"{kind} at line {line} is {'not ' if match is None else ''}found")
    result.wrong = [f"{kind} at {line}" for kind, line in open_findings]
    expected = sorted(kind for kind, _, word in wastes if word == "wrong")
    if sorted(kind for kind, _ in open_findings) != expected:
        result.faults.append(f"wrong are {result.wrong}, not {expected}")
    return result


def resident_at_exit(program: Program) -> int:
    """Returns: bytes."""
    ended = subprocess.run(program.command, env={"RESIDENT": "1"}, capture_output=True, text=True, check=True)
    return 1024 * int(re.findall(r"VmRSS:\s+(\d+) kB", ended.stderr)[-1])


def promise_faults(findings: dict[Program, list[dict]]) -> list[str]:
    """notes_in_pool is pins_log_notes with the remedy: what was promised has to go."""
    if platform.libc_ver()[0] != "glibc":
        return []
    before, after = (next(p for p in findings if p.name == name) for name in ("pins_log_notes", "notes_in_pool"))
    promised = findings[before][0]["bytes_saved_after_peak"]
    kept = [resident_at_exit(program) for program in (before, after)]
    print(f"pins_log_notes: {promised} bytes are promised; resident at the end {kept[0]}, with the remedy {kept[1]}")
    return [] if kept[0] - kept[1] >= promised else ["the remedy of pins_log_notes saves less than is promised"]


def percent(part: int, whole: int) -> str:
    return "-" if whole == 0 else f"{100 * part / whole:.0f} %"


def kinds_table(results: list[Result]) -> list[str]:
    counts = {word: collections.Counter(w.split()[0] for r in results for w in getattr(r, word))
              for word in ("found", "missed", "wrong")}
    kinds = sorted(set().union(*counts.values()))

    def whole(kind: str) -> bool:
        return counts["missed"][kind] == 0 and counts["wrong"][kind] == 0

    def row(name: str, found: int, missed: int, wrong: int) -> str:
        return (f"| {name} | {found + missed} | {found} | {missed} | {wrong} | {percent(found, found + wrong)} | "
                f"{percent(found, found + missed)} |")
    return ["| kind | planted | found | missed | wrong | precision | recall |", "|---|---:|---:|---:|---:|---:|---:|",
            *(row(kind.replace("_", " "), *(counts[w][kind] for w in counts)) for kind in kinds if not whole(kind)),
            row("all", *(sum(counts[w].values()) for w in counts)), "",
            "Every other kind was found wherever it was planted, and nowhere else: "
            + ", ".join(f"{kind.replace('_', ' ')} {counts['found'][kind]}" for kind in kinds if whole(kind)) + "."]


def document(results: list[Result]) -> str:
    lines = ["# How right the findings are", "",
             "Generated by `tests/findings/measure.py build/release/bin/ashlar build/release/tests/findings "
             "--write results/findings.md`", "(the programs are the target `findings_programs`). "
             "[The kinds](../docs/findings.md) are explained in their own page.", "",
             "Precision is the share of findings that were planted. Recall is the share of planted wastes that were found.",
             "The programs were written for this measurement, so large programs may have other shares.", "",
             "## Programs that the rules were made with", "",
             *kinds_table([r for r in results if r.program.folder != "later"]), "",
             "## Programs that were written later", "",
             "No rule was changed for these. Those whose name begins with `clean` have no waste.", "",
             *kinds_table([r for r in results if r.program.folder == "later"]), "",
             "## What was missed or is wrong", "", "| program | found | missed | wrong |", "|---|---|---|---|"]
    for r in sorted((r for r in results if r.missed or r.wrong), key=lambda r: (FOLDERS.index(r.program.folder), r.program.name)):
        cells = [", ".join(w).replace("_", " ") for w in (r.found, r.missed, r.wrong)]
        lines.append(f"| {r.program} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def without_huge_pages() -> None:
    """Of this process and of what it starts: a huge page brings memory that nobody touched."""
    pr_set_thp_disable = 41
    ctypes.CDLL(None).prctl(pr_set_thp_disable, 1, 0, 0, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ashlar", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    without_huge_pages()
    ashlar, folder = arguments.ashlar.resolve(), arguments.folder.resolve()
    sources = [p for name in FOLDERS for p in sorted(HERE.glob(f"{name}.c*"))]
    programs = [program for source in sources for program in programs_of(source, folder)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # some of them sleep
        findings = dict(zip(programs, pool.map(lambda program: findings_of(ashlar, program), programs)))
    # Beside busy processes one may stand still for a while, and what its pages hold then is weighed by time, too.
    for program in programs:
        if faults := compare(program, findings[program]).faults:
            print(f"{program}: {'; '.join(faults)}; recorded once more, by itself")
            findings[program] = findings_of(ashlar, program)
    results = [compare(program, findings[program]) for program in programs]
    promises = promise_faults(findings)
    if arguments.write:
        arguments.write.write_text(document(results))
    for fault in promises:
        print(fault)
    for r in results:
        for fault in r.faults:
            print(f"{r.program}: {fault}")
    table = ROOT / "results/findings.md"
    if not arguments.write and table.read_text() != document(results):
        print("results/findings.md has another table: write it anew (--write)")
        return 1
    found, missed, wrong = (sum(len(getattr(r, w)) for r in results) for w in ("found", "missed", "wrong"))
    print(f"{len(results)} programs: {found} found, {missed} missed, {wrong} wrong")
    return 1 if promises or any(r.faults for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
