#!/usr/bin/env python3
"""What the tests of a coverage build ran: per folder on standard output, line by line in build/coverage/index.html.

Run: coverage_report.py (by scripts/coverage.sh, after the tests). Ends with 1 when a folder is below a bound, or when
docs/coverage_reasons.txt and the lines that did not run do not agree.

Reads gcov's JSON and gives gcovr one sum of it, since gcovr 5.2 reads gcov's text, which leaves out the branches of
templates with several instances. A line ran if it ran in any instance. A line's branches are those of one instance;
instances that have as many are one (the same condition, with other types), so each counts once and was taken if any
instance took it. Left out, as gcovr's --exclude-throw-branches and --exclude-unreachable-branches do: the branches
that only an exception takes, with the other side of each, and those of a line with nothing but a brace.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/coverage"
FOLDERS = ("core", "pool", "arena", "pages", "heap")
LINE_BOUND, BRANCH_BOUND = 98.0, 90.0  # percent, of each folder
REASONS = ROOT / "docs/coverage_reasons.txt"
MEASURED = re.compile(rf"ashlar/({'|'.join(FOLDERS)})/(?!test_)[a-z_]+(?<!_test)\.(hpp|h|cpp)")
ONLY_BRACES = re.compile(r"[{}\s;]*(//.*)?")


@dataclasses.dataclass
class Line:
    count: int = 0
    instances: list[list[int]] = dataclasses.field(default_factory=list)  # how often each of its branches was taken
    run_together: list[list[int]] = dataclasses.field(default_factory=list)  # those of several instances, in a row
    unit: int = 0  # how many of such a row are one instance's; 0: not known

    @property
    def is_apart(self) -> bool:
        return all(self.unit != 0 and len(row) % self.unit == 0 for row in self.run_together)

    @functools.cached_property
    def branches(self) -> list[int]:
        apart = list(self.instances)
        if self.is_apart:
            for row in self.run_together:
                apart += [row[i : i + self.unit] for i in range(0, len(row), self.unit)]
        shapes: dict[int, list[int]] = {}
        for counts in apart:
            shapes[len(counts)] = [a + b for a, b in zip(counts, shapes.get(len(counts), [0] * len(counts)))]
        return list(itertools.chain.from_iterable(shapes.values()))


@dataclasses.dataclass
class Source:
    name: str
    text: list[str]
    lines: dict[int, Line] = dataclasses.field(default_factory=lambda: collections.defaultdict(Line))
    functions: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)

    def function_of(self, line: int) -> str:
        """The outermost one: a lambda's lines are those of the function that it stands in."""
        around = [span for span in self.functions if span[0] <= line <= span[1]]
        return self.functions[min(around)] if around else ""


def bare_name(demangled: str) -> str:
    """`put` of `bool ashlar::detail::slab<int>::put(run&)::{lambda()#1}::operator()() const`."""
    operator = re.search(r"operator *(\(\)|\[\]|new\[\]|delete\[\]|new|delete|[^\w\s(]+)", demangled)
    if operator and "{lambda" not in demangled:
        return operator.group(0)
    shorter = demangled.replace("(anonymous namespace)", "anonymous")
    while (cut := re.sub(r"<[^<>]*>|\([^()]*\)", "", shorter)) != shorter:
        shorter = cut
    words = re.split(r"::\{lambda", shorter)[0].removesuffix(" const").split()
    return words[-1].split("::")[-1] if words else demangled


def kept_branches(branches: list[dict]) -> list[int]:
    kept: list[int] = []
    for branch in branches:
        if branch["throw"]:  # gcov names the way on, where nothing is thrown, directly before it
            kept.pop()
        else:
            kept.append(branch["count"])
    return kept


def read_counts(counts_file: pathlib.Path) -> dict:
    done = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(counts_file)],
        cwd=counts_file.parent, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def add_counts(sources: dict[str, Source], document: dict) -> None:
    for file in document["files"]:
        path = pathlib.Path(os.path.normpath(pathlib.Path(document["current_working_directory"], file["file"])))
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        if not MEASURED.fullmatch(name):
            continue
        if name not in sources:
            sources[name] = Source(name, path.read_text().splitlines())
        source = sources[name]
        for function in file["functions"]:
            span = (function["start_line"], function["end_line"])
            source.functions.setdefault(span, bare_name(function["demangled_name"]))
        lambdas = collections.Counter(f["start_line"] for f in file["functions"] if "{lambda" in f["demangled_name"])
        for entry in file["lines"]:
            number = entry["line_number"]
            braces = ONLY_BRACES.fullmatch(source.text[number - 1])
            if braces and entry["count"] == 0 and number not in source.lines:
                continue  # nothing of the program's text
            line = source.lines[number]
            line.count += entry["count"]
            branches = [] if braces else kept_branches(entry["branches"])
            if not branches:
                continue
            if "function_name" in entry:
                line.instances.append(branches)
            else:  # gcov knows where a lambda begins, not where it ends: its other lines are no function's
                line.run_together.append(branches)
                count = lambdas[max(filter(lambda start: start <= number, lambdas), default=0)]
                if count != 0 and len(branches) % count == 0:
                    line.unit = math.gcd(line.unit, len(branches) // count)


def read_sources() -> dict[str, Source]:
    counts_files = sorted(BUILD.rglob("*.gcda"))
    if not counts_files:
        sys.exit(f"coverage: no counts (*.gcda) in {BUILD.relative_to(ROOT)}: scripts/coverage.sh runs what writes them")
    sources: dict[str, Source] = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for document in pool.map(read_counts, counts_files):
            add_counts(sources, document)
    return sources


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


@dataclasses.dataclass
class Figures:
    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_taken: int = 0

    def add(self, line: Line) -> None:
        self.lines += 1
        self.lines_run += line.count > 0
        self.branches += len(line.branches)
        self.branches_taken += sum(count > 0 for count in line.branches)

    def cells(self) -> tuple[str, ...]:
        return (str(self.lines), f"{percent(self.lines_run, self.lines):.1f} %",
                str(self.branches), f"{percent(self.branches_taken, self.branches):.1f} %")


def figures_of(sources: dict[str, Source]) -> dict[str, Figures]:
    of_folder = {folder: Figures() for folder in FOLDERS}
    for name, source in sources.items():
        for line in source.lines.values():
            of_folder[name.split("/")[1]].add(line)
    return of_folder


def not_run(sources: dict[str, Source]) -> dict[tuple[str, str], list[int]]:
    """The lines that did not run, by file and function."""
    found = collections.defaultdict(list)
    for name, source in sorted(sources.items()):
        for number, line in sorted(source.lines.items()):
            if line.count == 0:
                found[name, source.function_of(number)].append(number)
    return found


def read_reasons() -> dict[tuple[str, str], str]:
    """Lines `FILE FUNCTION: REASON`; a line that begins with a space goes on with the reason, # is a comment."""
    reasons: dict[tuple[str, str], str] = {}
    last = None
    for number, text in enumerate(REASONS.read_text().splitlines(), 1):
        match = re.fullmatch(r"(\S+) ([^:]+): (.+)", text)
        if not text or text.startswith("#"):
            continue
        if text.startswith(" ") and last:
            reasons[last] += " " + text.strip()
        elif match:
            last = (match[1], match[2])
            reasons[last] = match[3]
        else:
            sys.exit(f"coverage: {REASONS.name}:{number}: expected 'FILE FUNCTION: REASON', found '{text}'")
    return reasons


def write_html(sources: dict[str, Source]) -> None:
    """By gcovr, from the sum in its own JSON."""
    files = [{"file": source.name, "functions": [], "lines": [
        {"line_number": number, "count": line.count, "gcovr/noncode": False, "gcovr/excluded": False,
         "branches": [{"count": count, "fallthrough": False, "throw": False} for count in line.branches]}
        for number, line in sorted(source.lines.items())]} for source in sources.values()]
    summed = BUILD / "coverage.json"
    summed.write_text(json.dumps({"gcovr/format_version": "0.3", "files": files}))
    subprocess.run(["gcovr", "--root", str(ROOT), "--add-tracefile", str(summed),
                    "--html-details", str(BUILD / "index.html"), "--html-title", "ashlar: coverage"], check=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--branches", action="store_true", help="tell lines with a branch that was not taken, too")
    options = arguments.parse_args()
    sources = read_sources()
    figures, missed, reasons = figures_of(sources), not_run(sources), read_reasons()
    write_html(sources)

    faults = []
    for (name, function), lines in missed.items():
        why = reasons.get((name, function))
        for number in lines:
            print(f"{name}:{number}: not run: {sources[name].text[number - 1].strip()}")
        print(f"  {function}: {why or 'NO REASON'}")
        if not why:
            faults.append(f"{name}: {function} has lines that no test runs: test them, or tell why in {REASONS.name}")
    for name, function in reasons.keys() - missed.keys():
        faults.append(f"{REASONS.name}: {name} {function}: every line of it ran, or it is gone: delete the reason")
    left_out = 0
    for name, source in sorted(sources.items()):
        for number, line in sorted(source.lines.items()):
            left_out += not line.is_apart
            if options.branches and 0 in line.branches:
                print(f"{name}:{number}: {line.branches.count(0)} of {len(line.branches)} branches not taken: "
                      f"{source.text[number - 1].strip()}")

    row = "{:8}{:>8}{:>9}{:>10}{:>9}"
    print(row.format("folder", "lines", "run", "branches", "taken"))
    for folder, of_folder in figures.items():
        print(row.format(folder, *of_folder.cells()))
        for part, whole, bound, what in ((of_folder.lines_run, of_folder.lines, LINE_BOUND, "lines"),
                                         (of_folder.branches_taken, of_folder.branches, BRANCH_BOUND, "branches")):
            if percent(part, whole) < bound:
                faults.append(f"ashlar/{folder}: {percent(part, whole):.2f} % of the {what}, of {bound:.0f} % at least")
    print(f"{left_out} lines of lambdas without their branches: gcov runs those of several instances together")
    print(f"line by line: {(BUILD / 'index.html').relative_to(ROOT)}")
    for fault in faults:
        print(f"coverage: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
