#!/usr/bin/env python3
"""Runs whole programs with their n-th request for pages failing, for n = 1, 2, ... until none fails.

What must hold each time:
- no signal ends the program but the SIGABRT by which it gives up with a message, and it does not hang;
- ashlar finds no damage: no line of it on standard error;
- when the process ends, by exit or by abort, the heap is whole, serves blocks of every class again, has no page that
  nobody has (heap_check.cpp), and no more is in use than without the failure, if the program did not notice it.
A program may end with another status: it says that there was no memory. Not so sweep_handlers, whose new-handler makes
memory available again. One that uses the null that it was given, a test for one, crashes by its own fault: told from
ashlar's by the address and by whose code it was.

The programs are ctest's (CASES says which) and a few of the system's. Each is swept twice: the n-th request alone
fails, and the n-th with all later ones. Where all n would take longer than --seconds, some are chosen: the first ones,
then ever fewer.

usage: sweep.py BUILD [--only REGEX] [--seconds N] [--quick] [--document FILE] [--results FILE] [--jobs N]
"""
from __future__ import annotations

import argparse
import bisect
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import page_part  # noqa: E402

HANDLERS = "handlers that use the heap"
SYSTEM = "programs of the system"
CHECKED = "the same under full checks"
# group: which of ctest's tests. The first that matches, wins; what none matches is not swept.
CASES = [
    ("lifetime, drop-in", re.compile(r"lifetime_.*_drop_in$|lifetime_(new_handler|early)_")),
    ("lifetime, C face", re.compile(r"lifetime_")),
    ("random programs against a model", re.compile(r"^(model_heaps_|exact_test)")),
    ("all sizes and alignments", re.compile(r"(sizes|alignment)_test$")),
    ("unit tests, each by itself", re.compile(r"(runtime|instance|adapt|compat|compat_memory_pool|arena|\w+_faults)_test$")),
    ("xallocator programs", re.compile(r"xallocator_(c_|no_heap)")),
    ("examples", re.compile(r"example_")),
    ("C and C++ on the drop-in", re.compile(r"dropin_(family|operators|replaced_operators)$")),
    (HANDLERS, re.compile(r"sweep_handlers")),
]
# Under the drop-in library; each is given standard input and says something.
PYTHON = "/usr/bin/python3"  # one found by PATH may be a shell script
SYSTEM_PROGRAMS = {
    "python3": [PYTHON, "-c", "import json; print(len(json.dumps([{'n': str(i)} for i in range(20000)])))"],
    "python3_malloc": [PYTHON, "-c", "print(sum(len(str(i) * 20) for i in [*range(30000)]))"],
    "sqlite3": ["sqlite3", ":memory:", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) "
                "SELECT count(*), length(group_concat(i)) FROM (SELECT i FROM n ORDER BY i % 977, i);"],
    "git": ["git", "log", "--oneline", "--stat", "-20"],
    "sort": ["sort", "-r"],
    "bash": ["bash", "--norc", "-c", "for i in {1..3000}; do a[i]=$(( i * 7 )); done; echo ${a[*]} | wc -c"],
    "perl": ["perl", "-e", "my %h; $h{$_ * 7 % 9973} .= $_ for 1..30000; print scalar(keys %h), qq(\\n)"],
}
# Call stacks take most of the time; which blocks are guarded is chance, and each asks for pages.
FULL_CHECKS = {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_STACK_DEPTH": "0", "ASHLAR_CHECK_GUARD": "0"}
SYSTEM_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}
# With nothing left at all: perl's message needs a buffer, for want of which it writes a message, until its stack ends;
# and that test's handler, which has nothing more to free, is called for ever, as operator new's would be.
ONE_FAILURE_ONLY = {"program_perl", "program_perl_checked", "instance_test:HeapBudget.PoliciesSayWhatHappensThen"}
STANDARD_INPUT = "".join(f"line {i * 7919 % 20011}\n" for i in range(20000)).encode()
# What takes long by itself is shorter here.
ENVIRONMENT = {"ASHLAR_OPERATIONS": "20000", "LC_ALL": "C"}
# Out of memory for real, where refusing once more shows nothing; and a misuse on purpose, whose message is expected.
LEFT_OUT = re.compile(r"lifetime_(limits|memory_group|overcommit|plugins_wrong_copy)")

MODES = ("SWEEP_FAIL_AT", "SWEEP_FAIL_FROM")
# What keeps memory until the process ends, by design: those pools, of which less was to be had at a time, and the queue
# of freed blocks. A different way there leaves different pieces.
KEEPS_MEMORY = re.compile(r"compat_memory_pool_test:|program_.*_checked$")
REPORT = struct.Struct("4Q")  # failing_pages.c: struct report
REPORT_BYTES = 4096
# What ashlar says of memory that is not there, or of a null that it was given for a block, is no damage.
DAMAGE = re.compile(r"^(ashlar: (?!.*: out of memory|(realloc|usable_size)\(0x0\): the address was not allocated).*"
                    r"|sweep: .*)$", re.MULTILINE)
FAULTS_MAX = 3  # of one case in one mode: then the rest of its n is not tried
CRASH = re.compile(r"^crash: at address (\w+), code (\S+)\+(\w+), caller (\S+)\+(\w+)$", re.MULTILINE)
NULL_PAGES = 1 << 20  # what lies so near null is a member or an element of what was not there
OURS = re.compile(r"_ZNK?6ashlar(?!4test)")  # a function of the library, but for its tests' support
LOOKS = 20  # at a program whose time is over: one that loops by itself is not in ashlar's code each time
RUNS_MORE = 20  # without a failure, and with it, where more is in use with one
QUICK_RUNS = 6
DENSE = 200  # up to this n, every one if time allows


@dataclasses.dataclass
class Case:
    name: str
    group: str
    command: list[str]
    environment: dict[str, str]
    drop_in: bool


@dataclasses.dataclass
class Run:
    code: int | None  # as subprocess tells it; None: it did not end
    text: str
    requests: int
    failed: int
    checks: int
    bytes_in_use: int
    seconds: float
    shell: str  # how to see it again


@dataclasses.dataclass
class Outcome:
    name: str
    group: str
    requests: int = 0
    tried: int = 0
    survived: int = 0
    told: int = 0
    used_null: int = 0
    looped: int = 0
    checks: int = 0
    handled: int = 0
    all_n: bool = True
    faults: list[str] = dataclasses.field(default_factory=list)
    skipped: str = ""


class Sweep:
    def __init__(self, build: pathlib.Path, arguments: argparse.Namespace):
        self.build = build
        self.symbols: dict[str, list[tuple[int, str]]] = {}
        self.arguments = arguments
        self.failing_pages = build / "tests/sweep/libsweep_failing_pages.so"
        self.library = build / "tests/sweep/libashlar-malloc.so"
        for file in (self.failing_pages, self.library):
            if not file.exists():
                sys.exit(f"{file} is missing: build the target {file.stem.removeprefix('lib').replace('-', '_')}")

    # ---- what there is to run ----------------------------------------------------------------

    def cases(self) -> list[Case]:
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, check=True, capture_output=True)
        found = []
        for test in json.loads(listed.stdout)["tests"]:
            group = next((group for group, names in CASES if names.match(test["name"])), None)
            if group is None or LEFT_OUT.match(test["name"]):
                continue
            found += self.ctest_cases(test, group)
        for name, command in SYSTEM_PROGRAMS.items():
            if shutil.which(command[0]):  # setup.sh installs them for `make test`
                own = {**SYSTEM_ENVIRONMENT, **({"PYTHONMALLOC": "malloc"} if name == "python3_malloc" else {})}
                found.append(Case(f"program_{name}", SYSTEM, command, own, True))
                found.append(Case(f"program_{name}_checked", CHECKED, command, {**own, **FULL_CHECKS}, True))
        return found

    def ctest_cases(self, test: dict, group: str) -> list[Case]:
        command = list(test.get("command", []))
        for word in command:  # a program that cmake/expect.cmake runs
            if word.startswith("-DPROGRAM="):
                command = [word.removeprefix("-DPROGRAM=")]
        if not command or not pathlib.Path(command[0]).exists():
            if self.arguments.only:  # so that a few programs can be swept without building all
                return []
            sys.exit(f"{test['name']}: its program is not built")
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT") or [] if "=" in line)
        drop_in = "ashlar-malloc" in environment.pop("LD_PRELOAD", "")
        if not group.startswith("unit tests"):
            return [Case(test["name"], group, command, environment, drop_in)]
        names = subprocess.run(command + ["--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
        suite, cases = "", []
        for line in names.splitlines():
            if line.startswith("  "):
                name = suite + line.split()[0]
                if "DISABLED_" not in name:
                    cases.append(Case(f"{test['name']}:{name}", group, command + [f"--gtest_filter={name}"],
                                      environment, drop_in))
            elif line.split("#")[0].strip().endswith("."):  # a type may stand behind it
                suite = line.split()[0]
        return cases

    # ---- one run -----------------------------------------------------------------------------

    def run(self, case: Case, mode: str, n: int, limit: float) -> Run:
        preload = f"{self.failing_pages}:{self.library}" if case.drop_in else str(self.failing_pages)
        caller = "libashlar-malloc" if case.drop_in else f"{self.build}/"
        with tempfile.TemporaryDirectory(prefix="sweep-") as directory:
            # In memory: a page that is written costs no access to a disk.
            report = os.path.join("/dev/shm" if os.path.isdir("/dev/shm") else directory,
                                  f"sweep-{os.path.basename(directory)}")
            try:
                with open(report, "wb") as file:
                    file.truncate(REPORT_BYTES)
                own = {**ENVIRONMENT, **case.environment, "TMPDIR": directory, "SWEEP_CALLER": caller,
                       "SWEEP_REPORT": report, "LD_PRELOAD": preload,
                       # Of one length: a program may keep its environment, and what is in use is compared.
                       **{m: f"{n if m == mode else 0:08}" for m in MODES}}
                shell = " ".join(["env", *(f"{k}={v}" for k, v in own.items() if k not in ("SWEEP_REPORT", "TMPDIR")),
                                  *(f"'{word}'" for word in case.command)])
                started = time.monotonic()
                code, text = self.end_of(case, {**os.environ, **own}, directory, limit)
                seconds = time.monotonic() - started
                with open(report, "rb") as file:
                    figures = REPORT.unpack(file.read(REPORT.size))
            finally:
                os.unlink(report)
        return Run(code, text, *figures, seconds, shell)

    def end_of(self, case: Case, environment: dict[str, str], directory: str,
               limit: float) -> tuple[int | None, str]:
        # git wants a repository; the others write where they are, if they write.
        place = pathlib.Path(__file__).parent if case.command[0] == "git" else directory
        with open(os.path.join(directory, "output"), "w+b") as output:
            process = subprocess.Popen(case.command, cwd=place, env=environment, stdin=subprocess.PIPE,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                process.communicate(STANDARD_INPUT if case.group in (SYSTEM, CHECKED) else b"", timeout=limit)
                code = process.returncode
            except subprocess.TimeoutExpired:
                code = None
                for _ in range(LOOKS):
                    process.send_signal(signal.SIGSEGV)  # it tells where it is
                    time.sleep(0.1)
            try:  # and whatever it started
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0)
            return code, output.read().decode(errors="replace")

    # ---- one program -------------------------------------------------------------------------

    def sweep(self, case: Case) -> Outcome:
        outcome = Outcome(case.name, case.group)
        base = [self.run(case, MODES[0], 0, 300) for _ in range(2)]
        if base[0].code == 77:
            outcome.skipped = "skips itself here"
            return outcome
        for run in base:
            if "0 tests from 0 test suites" in run.text:
                sys.exit(f"{case.name}: there is no such test")
            if run.code != 0 or DAMAGE.search(run.text) or run.failed != 0:
                outcome.faults.append(f"{case.name}: not even without a failure: {self.ending(run)}\n  {run.shell}")
                return outcome
        outcome.requests = max(run.requests for run in base)
        for mode in MODES[:1] if case.name in ONE_FAILURE_ONLY else MODES:
            self.sweep_mode(case, mode, base, outcome)
        if case.group == HANDLERS and outcome.handled == 0:
            outcome.faults.append(f"{case.name}: no refusal reached its handler: nothing was tested")
        return outcome

    def sweep_mode(self, case: Case, mode: str, base: list[Run], outcome: Outcome) -> None:
        limit = 20 + 10 * max(run.seconds for run in base)
        chosen = self.choose(outcome.requests, base[0].seconds)
        outcome.all_n &= len(chosen) == outcome.requests
        before, n = len(outcome.faults), 0
        for n in chosen:
            if self.judge(case, mode, n, limit, base, outcome) is None:
                return
            if len(outcome.faults) - before >= FAULTS_MAX:
                return
        while n >= outcome.requests and not self.arguments.quick:  # a failure may bring more requests
            n += 1
            if n > outcome.requests + 20 or self.judge(case, mode, n, limit, base, outcome) is None:
                return

    def choose(self, requests: int, seconds: float) -> list[int]:
        """The n to try: all if time allows; else half of what it allows from the first on, half spread out."""
        most = QUICK_RUNS if self.arguments.quick else max(4, int(self.arguments.seconds / 2 / max(seconds, 0.005)))
        if requests <= min(most, DENSE):
            return list(range(1, requests + 1))
        first = min(most // 2, DENSE)
        chosen = set(range(1, first + 1))
        spread = max(most - first, 1)
        for i in range(1, spread + 1):
            chosen.add(max(1, round(first * (requests / max(first, 1)) ** (i / spread))))
        return sorted(chosen)

    def judge(self, case: Case, mode: str, n: int, limit: float, base: list[Run], outcome: Outcome) -> bool | None:
        """Returns: None if no request failed, for n is beyond the last one; else whether all was well."""
        run = self.run(case, mode, n, limit)
        if run.failed == 0 and run.code == 0:
            return None
        outcome.tried += 1
        outcome.checks += run.checks
        reason = self.fault_of(case, run, base) or self.leak_of(case, mode, n, limit, run, base)
        if not reason and case.group == HANDLERS and run.code != 0:
            reason = "its handler made memory available, in vain"
        outcome.handled += "the handler was called 1 times" in run.text
        if reason:
            outcome.faults.append(f"{case.name}: {reason}: {self.ending(run)}\n  {run.shell}")
            return False
        if run.code == 0:
            outcome.survived += 1
        elif run.code is None:
            outcome.looped += 1
        elif run.code == -11:
            outcome.used_null += 1
        else:
            outcome.told += 1
        return True

    def used_null(self, run: Run) -> bool:
        """Returns: whether it crashed where the program, not ashlar, used the null that it was given."""
        crash = CRASH.search(run.text)
        if crash is None or NULL_PAGES <= int(crash[1], 16) < 2**64 - NULL_PAGES:
            return False
        return self.is_outside(crash)

    def loops_by_itself(self, run: Run) -> bool:
        """Returns: whether it was ended for its time in the program's code, which asked again and again, not in ashlar's."""
        return run.code is None and any(self.is_outside(place) for place in CRASH.finditer(run.text))

    def is_outside(self, crash: re.Match[str]) -> bool:
        # What lies on top of the stack is a caller only where a function of the C library was called.
        inside = crash[2].startswith(f"{self.build}/") or "ashlar" in os.path.basename(crash[2])
        file, offset = (crash[2], crash[3]) if inside else (crash[4], crash[5])
        return not OURS.match(self.function_at(file, int(offset, 16)))

    def function_at(self, file: str, offset: int) -> str:
        if file not in self.symbols:
            listed = subprocess.run(["nm", "--defined-only", file], capture_output=True, text=True, check=False).stdout
            self.symbols[file] = sorted((int(line[0], 16), line[2]) for line in map(str.split, listed.splitlines())
                                        if len(line) == 3 and line[1] in "tTwWvVi")
        place = bisect.bisect_right(self.symbols[file], (offset, "~"))
        return self.symbols[file][place - 1][1] if place else ""

    def fault_of(self, case: Case, run: Run, base: list[Run]) -> str:
        """Returns: what must not be; empty when all is well."""
        if run.code is None and not self.loops_by_itself(run):
            return "it hangs"
        if DAMAGE.search(run.text):
            return "the heap is damaged"
        if run.code is not None and run.code < 0 and (run.code != -6 or not run.text) and not self.used_null(run):
            return f"signal {-run.code}"
        if run.code == 0 and run.checks < min(b.checks for b in base):
            return "its heap was not looked at"
        return ""

    def leak_of(self, case: Case, mode: str, n: int, limit: float, run: Run, base: list[Run]) -> str:
        """Returns: how much more is in use at the end for this failure; empty when nothing is."""
        most = max(b.bytes_in_use for b in base)
        if run.code != 0 or run.bytes_in_use <= most or KEEPS_MEMORY.match(case.name):
            return ""
        # What a program uses may vary by itself, with its addresses or threads; a leak is there more often than not.
        for _ in range(RUNS_MORE):
            base.append(self.run(case, MODES[0], 0, 300))
            if base[-1].bytes_in_use >= run.bytes_in_use:
                return ""
        again = [self.run(case, mode, n, limit) for _ in range(RUNS_MORE)]
        if 2 * sum(r.code == 0 and r.bytes_in_use > most for r in again) < RUNS_MORE:
            return ""
        return f"{run.bytes_in_use} bytes are in use at the end, {most} without the failure"

    @staticmethod
    def ending(run: Run) -> str:
        lines = [line for line in run.text.splitlines() if line.strip()]
        return f"status {run.code}, {' | '.join(lines[-3:])[-400:]}"

    def all(self, cases: list[Case]) -> list[Outcome]:
        outcomes = []
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for outcome in pool.map(self.sweep, cases):
                outcomes.append(outcome)
                with open(self.arguments.results, "a", encoding="utf-8") as file:
                    file.write(json.dumps(dataclasses.asdict(outcome)) + "\n")
                state = outcome.skipped or (
                    f"{outcome.requests} requests, {outcome.tried} failed: {outcome.survived} survived, "
                    f"{outcome.told} told, {outcome.used_null} used null, {outcome.looped} looped, {len(outcome.faults)} faults")
                print(f"{outcome.name}: {state}", flush=True)
                for fault in outcome.faults:
                    print(f"FAULT {fault}", flush=True)
        return outcomes


# ---- the report --------------------------------------------------------------------------------

def table(outcomes: list[Outcome]) -> str:
    lines = ["| programs | cases | requests | made to fail | not noticed | told | faults |", "|---|---|---|---|---|---|---|"]
    ran = [o for o in outcomes if not o.skipped]
    groups = dict.fromkeys(o.group for o in ran)
    for group in [*groups, None]:
        mine = [o for o in ran if group in (o.group, None)]
        total = [len(mine), *(sum(getattr(o, f) for o in mine) for f in ("requests", "tried", "survived", "told")),
                 sum(len(o.faults) for o in mine)]
        lines.append(f"| {group or '**all**'} | " + " | ".join(f"{n:,}" for n in total) + " |")
    return "\n".join(lines)


def all_outcomes(results: pathlib.Path, known: list[Case]) -> list[Outcome]:
    """The newest outcome of each case, whichever run it is of: an interrupted sweep goes on with --only."""
    names = {case.name for case in known}
    newest = {}
    for line in results.read_text().splitlines():
        outcome = Outcome(**json.loads(line))
        if outcome.name in names:
            newest[outcome.name] = outcome
    order = [group for group, _ in CASES] + [SYSTEM, CHECKED]
    return sorted(newest.values(), key=lambda o: order.index(o.group))


def write_document(file: pathlib.Path, outcomes: list[Outcome], missing: int) -> None:
    sampled = sum(not o.all_n for o in outcomes if not o.skipped)
    ran = sum(not o.skipped for o in outcomes)
    note = (f"Of {ran - sampled} cases every n was tried; of {sampled}, with more requests than time allowed, the\n"
            "first ones and then ever fewer.")
    if missing:
        note += f" {missing} cases have not run."
    file.write_text(page_part.replaced(file.read_text(), "sweep", f"{table(outcomes)}\n\n{note}"))


def main() -> int:
    parser = argparse.ArgumentParser(description="the n-th request for pages fails, in whole programs")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="regular expression: which cases")
    parser.add_argument("--seconds", type=float, default=20, help="for one case, about (default 20)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} or so n of each")
    parser.add_argument("--document", type=pathlib.Path, help="where the table of all kept outcomes goes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--results", type=pathlib.Path, help="where outcomes are kept (default BUILD/sweep.jsonl)")
    arguments = parser.parse_args()
    arguments.results = arguments.results or arguments.build / "sweep.jsonl"
    sweep = Sweep(arguments.build.resolve(), arguments)
    known = sweep.cases()
    cases = [case for case in known if re.search(arguments.only, case.name)]
    if not cases:
        sys.exit(f"no case matches '{arguments.only}'")
    outcomes = sweep.all(cases)
    print(table(outcomes))
    if arguments.document:
        kept = all_outcomes(arguments.results, known)
        write_document(arguments.document, kept, len(known) - len(kept))
    if not any(o.tried for o in outcomes):
        sys.exit("no request was made to fail: nothing was tested")
    return 1 if any(o.faults for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
