"""The parts of `make torture`: what each runs, for how long, and what of its output is kept.

A part's command may take as long as it needs. Where it can do more or less, `scale` says how much: 1 is the full
measure of the nightly run, and what is written here for it is what that run does.
"""
import dataclasses
import re
from typing import Callable

NUMBER = r"([\d,]+)"


@dataclasses.dataclass(frozen=True)
class Plan:
    scale: float  # 1: full
    seed: int
    jobs: int
    build: str = "build/release"

    @property
    def library(self):
        return f"{self.build}/ashlar/libashlar-malloc.so"

    def scaled(self, full, least=1):
        return max(least, round(full * self.scale))


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    what: str
    command: Callable[[Plan], list]
    counts: dict  # what is counted -> expression whose first group, of all its matches together, is the number
    targets: tuple = ()  # of the release build; ("all",) for everything
    minutes: float = 1  # about, at full scale on two processors
    scales: bool = False
    seeded: bool = False

    def counted(self, text):
        """The numbers, and what was not told at all: a run that tells nothing of something has not done it."""
        numbers = {what: [int(found.replace(",", "")) for found in re.findall(expression, text, re.MULTILINE)]
                   for what, expression in self.counts.items()}
        missing = [what for what, found in numbers.items() if not found]
        return {what: sum(found) for what, found in numbers.items() if found}, missing


def cpython(plan):
    settings = [] if plan.scale >= 0.5 else ["--settings", "malloc"]
    return ["python3", "tests/programs/cpython_suite.py", plan.library, "--jobs", str(2 * plan.jobs), *settings]


def long_program(name, what, minutes, scales=True):
    return Part(name, what, lambda plan: ["python3", "tests/programs/run_program.py", name, plan.library,
                                          str(plan.scaled(100))],
                {"results": rf"^{name}: {NUMBER} results agree", "bytes": rf"results agree, {NUMBER} bytes"},
                ("ashlar_malloc",), minutes, scales)


PARTS = [
    Part("cpython", "CPython's own tests", cpython,
         {"modules": rf"^{NUMBER} modules, ", "minutes of modules": rf"{NUMBER} minutes of modules",
          "tests": rf"{NUMBER} tests compared", "passed": rf"on the library {NUMBER} passed",
          "differences": rf"{NUMBER} differences", "unsteady": rf"{NUMBER} unsteady"},
         ("ashlar_malloc",), 40, scales=True),
    long_program("redis", "redis-server: load, SHUTDOWN SAVE, restart", 2),
    long_program("self_compile", "this library, by both compilers on it", 5, scales=False),
    Part("real_programs", "the benchmarks' programs, full sizes",
         lambda plan: ["python3", "bench/programs/real_programs.py", "--check", "--lib", plan.library],
         {"runs": rf"^{NUMBER} passed", "failed": rf"{NUMBER} failed"}, ("ashlar_malloc",), 3),
    Part("soak", "a server's life (below)",
         lambda plan: ["python3", "tests/torture/soak.py", plan.build, "--seconds", str(plan.scaled(600, 60)),
                       "--seed", str(plan.seed),
                       *(["--document", "results/reliability.md"] if plan.scale >= 1 else [])],
         {"cycles": rf"^soak: {NUMBER} cycles", "threads": rf"cycles, {NUMBER} threads", "faults": rf"{NUMBER} faults"},
         ("soak", "soak_drop_in"), 10, scales=True, seeded=True),
    Part("model", "random programs against the shadow model",
         lambda plan: [f"{plan.build}/tests/model/model", "--operations", str(plan.scaled(10**9)),
                       "--seed", str(plan.seed), "--threads", str(plan.jobs)],
         {"operations": rf"^{NUMBER} operations,", "audits": rf"{NUMBER} audits", "forks": rf"{NUMBER} forks"},
         ("model",), 10, scales=True, seeded=True),
    Part("lifetime", "births, forks and endings, over and over",
         lambda plan: ["ctest", "--test-dir", plan.build, "-L", "lifetime", "-j", str(plan.jobs),
                       "--repeat", f"until-fail:{plan.scaled(10)}"],
         {"tests": rf"tests failed out of {NUMBER}"}, ("all",), 15, scales=True),
    Part("fuzz", "every fuzzer, with AddressSanitizer and UBSan",
         lambda plan: ["python3", "tests/fuzz/run_fuzzers.py", "--seconds", str(plan.scaled(60)),
                       "--jobs", str(plan.jobs)],
         {"inputs": rf"^[a-z_]+ +{NUMBER} "}, (), 10, scales=True),
    Part("sweep", "the n-th request for pages fails",
         lambda plan: ["make", "sweep", *([] if plan.scale >= 1 else [f"SWEEP_ARGS=--seconds {plan.scaled(20)}"])],
         {"programs": rf"^\| \*\*all\*\* \| {NUMBER}",
          "faults injected": rf"^\| \*\*all\*\* \| [\d,]+ \| [\d,]+ \| {NUMBER}"},
         ("all",), 40, scales=True),
    Part("mutants", "old bugs planted again", lambda plan: ["make", "mutants"],
         {"caught": rf"^{NUMBER} of \d+ caught", "mutants": rf"^\d+ of {NUMBER} caught"}, (), 60),
    Part("coverage", "lines and branches against their bounds", lambda plan: ["make", "coverage"],
         {"lines": rf"^(?:core|pool|arena|heap) +{NUMBER} "}, (), 10),
    Part("test_all", "the tests of every merge, at length",
         lambda plan: ["scripts/test.sh", "--all", "release-all", "clang-all", "asan-ubsan-all", "tsan-all"],
         {"tests": rf"tests failed out of {NUMBER}"}, (), 25),
    Part("analyzer", "clang-tidy with clang's analyzer", lambda plan: ["scripts/lint.sh", "--analyze"],
         {"files": rf"^lint: {NUMBER} files formatted", "units": rf"^lint: {NUMBER} units passed"}, (), 9),
    Part("headers", "every header alone, with libc++",
         lambda plan: ["tests/headers/check_headers.sh", ".", "clang++-19", "-stdlib=libc++", "-std=c++20"],
         {"headers": rf"{NUMBER} headers"}, (), 1),
]
