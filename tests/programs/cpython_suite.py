#!/usr/bin/env python3
"""CPython's own regression tests on the library: every test must end as it does on the system's allocator.

usage: cpython_suite.py LIBRARY [--modules NAME...] [--settings NAME...] [--jobs N] [--logs FOLDER]

Each module of MODULES runs in a process of its own, on the system's allocator and on the library, once for each of
SETTINGS. Compared is how each single test ended (passed, failed, error, skipped), and how the process did. What differs
runs twice more on both: a test that has ended in one way on both at least once is named as unsteady, any other is a
difference and makes the exit status 1. So does a process that a signal ended on the library, however often it does not.

The interpreter is Debian's; its tests are Debian's package libpython3.11-testsuite (scripts/setup.sh torture). Without
them the exit status is 77.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

SKIPPED = 77
PYTHON = "/usr/bin/python3"
TIMEOUT = 1500  # seconds for one module
INTERRUPTED = threading.Event()
RUNNING = set()  # each process leads a session of its own: Ctrl-C does not reach it
TOLD = 10  # of a module's differences: when its process ends early, every test is one
REPEATS = 2  # further runs on both allocators of a module that differs

# What allocates most, and what allocates from unusual places: threads, forked children, signal handlers, C callbacks.
MODULES = {
    "memory": "gc weakref weakset finalization tracemalloc sys mmap memoryview memoryio buffer array",
    "threads": "threading thread threading_local threadsignals threadedtempfile queue concurrent_futures context"
               " asyncio asyncgen",
    "processes": "subprocess multiprocessing_fork multiprocessing_forkserver multiprocessing_spawn"
                 " multiprocessing_main_handling fork1 faulthandler posix os popen wait3 wait4 signal atexit pty",
    "containers": "list tuple dict dictviews set deque heapq collections ordered_dict itertools functools sort bisect"
                  " range iter slice userdict userlist",
    "text": "unicode bytes string fstring format re codecs io fileio bufio file csv struct textwrap difflib tokenize"
            " multibytecodec unicodedata",
    "numbers": "decimal long int float complex fractions statistics math random",
    "documents": "json pickle picklebuffer pickletools marshal copy plistlib xml_etree xml_etree_c pyexpat minidom sax"
                 " email",
    "compression": "zlib gzip bz2 lzma zipfile tarfile hashlib",
    "language": "ast compile exceptions exception_group generators coroutines descr class types import importlib"
                " inspect typing dataclasses enum grammar patma call code frame builtin symtable traceback syntax"
                " unparse interpreters _xxsubinterpreters",
    "network": "socket select selectors poll epoll ssl httpservers urllib2_localnet",
    "C": "ctypes audioop binascii dbm shelve logging zoneinfo datetime",
}
ALL_MODULES = [f"test_{name}" for names in MODULES.values() for name in names.split()]
# Nothing there waits for a clock: the groups to which one more setting can be added for little.
OWN_WORK = [f"test_{name}" for group in ("memory", "containers", "text", "numbers", "documents", "compression",
                                         "language") for name in MODULES[group].split()]
THREADS = [f"test_{name}" for name in "threading thread queue concurrent_futures fork1 subprocess multiprocessing_fork"
           " faulthandler signal asyncio ctypes".split()]


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    modules: list
    both: dict  # the environment's variables on both allocators
    library: dict  # and on the library only


SETTINGS = [
    Setting("pymalloc", ALL_MODULES, {}, {}),  # as people run it: blocks above 512 bytes are the library's
    Setting("malloc", OWN_WORK + THREADS, {"PYTHONMALLOC": "malloc"}, {}),  # every object is
    Setting("checked", OWN_WORK + THREADS, {"PYTHONMALLOC": "malloc"},
            {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_STACK_DEPTH": "0"}),
]

# In a virtual machine that has such sockets, but no peer, these wait for ever.
LEFT_OUT = ["*VSOCK*"]


@dataclasses.dataclass
class Run:
    tests: dict  # name -> outcome
    seconds: float
    end: str  # "0", "status 2", "signal 11", "timeout"
    alarms: list  # lines in which the library or the loader spoke up


def environment(library, variables, scratch):
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    kept.update({"LC_ALL": "C.UTF-8", "TZ": "UTC", "TMPDIR": scratch, "PYTHONHASHSEED": "0", **variables})
    if library:
        kept["LD_PRELOAD"] = library
    return kept


def outcomes(report):
    """How each test ended, from the report in JUnit's format; of several of one name all of them, in order."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        outcome = next((k for k in ("error", "failure", "skipped") if k in kinds), "passed")
        found.setdefault(case.get("name"), []).append(outcome)
    return {name: ",".join(sorted(ends)) for name, ends in found.items()}


def end_session(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_module(module, library, variables, log):
    scratch = tempfile.mkdtemp(prefix="ashlar-cpython-")
    report = os.path.join(scratch, "report.xml")
    started = time.monotonic()
    try:
        with open(log, "wb") as output:
            if INTERRUPTED.is_set():
                raise KeyboardInterrupt
            process = subprocess.Popen(
                [PYTHON, "-m", "test", "-v", *(f"--ignore={name}" for name in LEFT_OUT), "--junit-xml", report,
                 "--tempdir", scratch, module], cwd=scratch,
                env=environment(library, variables, scratch), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
            RUNNING.add(process)
            try:
                code = process.wait(timeout=TIMEOUT)
                end = f"signal {-code}" if code < 0 else f"status {code}" if code else "0"
            except subprocess.TimeoutExpired:
                end = "timeout"
            finally:
                end_session(process)
                RUNNING.discard(process)
        text = pathlib.Path(log).read_text(errors="replace")
        alarms = [line for line in text.splitlines() if re.search(r"\bashlar: |ld\.so: .*preload", line)]
        tests = outcomes(report) if os.path.exists(report) else {}
        return Run(tests, time.monotonic() - started, end, alarms)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def different(module, one, two):
    """The tests that ended differently, the process itself among them under the module's name."""
    names = [name for name in {**one.tests, **two.tests} if one.tests.get(name) != two.tests.get(name)]
    if one.end != two.end:
        names.append(module)
    return names


def outcome(module, run, name):
    return f"process: {run.end}" if name == module else run.tests.get(name, "did not run")


class Comparison:
    def __init__(self, options):
        self.library = str(options.library.resolve())
        self.logs = options.logs
        self.logs.mkdir(parents=True, exist_ok=True)

    def pair(self, setting, module, attempt):
        runs = []
        for library, variables in (("", setting.both), (self.library, {**setting.both, **setting.library})):
            log = self.logs / f"{setting.name}.{module}.{'ashlar' if library else 'system'}.{attempt}.log"
            runs.append(run_module(module, library, variables, log))
        return runs

    def compare(self, setting, module):
        one, two = self.pair(setting, module, 0)
        result = {"setting": setting.name, "module": module, "tests": len(one.tests), "seconds_system": one.seconds,
                  "seconds_ashlar": two.seconds, "differences": [], "unsteady": []}
        for kind in ("passed", "failure", "error", "skipped"):
            result[kind] = sum(kind in ends for ends in two.tests.values())
        suspects = {name: [(outcome(module, one, name), outcome(module, two, name))]
                    for name in different(module, one, two)}
        fatal = two.end.startswith("signal") or two.end == "timeout"
        if not one.tests:
            result["differences"].append(f"{module}: it ran no test on the system's allocator ({one.end})")
        repeats = [self.pair(setting, module, n + 1) for n in range(REPEATS)] if suspects else []
        for name, ends in suspects.items():
            ends += [(outcome(module, a, name), outcome(module, b, name)) for a, b in repeats]
            told = f"{name}: system {' / '.join(a for a, _ in ends)}, ashlar {' / '.join(b for _, b in ends)}"
            on_system = {a for a, _ in ends}
            if on_system & {b for _, b in ends} and not fatal:
                result["unsteady"].append(told)
            else:
                result["differences"].append(told)
        for run in [two, *(b for _, b in repeats)]:
            # A test may print the word; a line at a line's start is the library's, unless the system's run has it too.
            result["differences"] += [f"{module}: {line}" for line in run.alarms if line not in one.alarms]
        return result


def tell(result, progress):
    print(f"{progress} {result['setting']} {result['module']}: {result['tests']} tests,"
          f" {result['seconds_system']:.0f} s on the system, {result['seconds_ashlar']:.0f} s", flush=True)
    for kind in ("differences", "unsteady"):
        for line in result[kind][:TOLD]:
            print(f"  {kind}: {line}", flush=True)
        if len(result[kind]) > TOLD:
            print(f"  {kind}: and {len(result[kind]) - TOLD} more", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description="CPython's regression tests on the library, compared test by test")
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--modules", nargs="+", metavar="NAME", help="these, not each setting's own list")
    parser.add_argument("--settings", nargs="+", metavar="NAME", choices=[s.name for s in SETTINGS],
                        default=[s.name for s in SETTINGS])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="modules at once (default: all processors)")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("build/torture/cpython"),
                        help="folder of the modules' output (default: build/torture/cpython)")
    return parser.parse_args()


def main():
    # A shell lets what it starts in the background ignore Ctrl-C, and the tests that send it would fail.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = parse_arguments()
    if not options.library.is_file():
        sys.exit(f"cpython_suite: {options.library}: no such file")
    if subprocess.run([PYTHON, "-c", "import test.test_gc"], capture_output=True, check=False).returncode != 0:
        print("SKIPPED: no regression tests beside Debian's python3; run scripts/setup.sh torture")
        return SKIPPED
    comparison = Comparison(options)
    work = [(setting, module) for setting in SETTINGS if setting.name in options.settings
            for module in options.modules or setting.modules]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            for done in concurrent.futures.as_completed([pool.submit(comparison.compare, *pair) for pair in work]):
                results.append(done.result())
                tell(results[-1], f"[{len(results)}/{len(work)}]")
        except KeyboardInterrupt:
            INTERRUPTED.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(RUNNING):
                end_session(process)
            sys.exit("cpython_suite: interrupted")
    total = {kind: sum(r[kind] for r in results) for kind in ("tests", "passed", "failure", "error", "skipped")}
    bad = sum(len(r["differences"]) for r in results)
    print(f"{len(results)} modules, {total['tests']} tests compared; on the library {total['passed']} passed,"
          f" {total['failure'] + total['error']} failed, {total['skipped']} were skipped;"
          f" {sum(r['seconds_system'] + r['seconds_ashlar'] for r in results) / 60:.0f} minutes of modules;"
          f" {bad} differences, {sum(len(r['unsteady']) for r in results)} unsteady")
    if total["passed"] == 0:
        sys.exit("cpython_suite: no test passed on the library: nothing was compared")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
