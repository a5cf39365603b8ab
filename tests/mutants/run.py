#!/usr/bin/env python3
"""Plants each bug of mutants.toml in a copy of the sources and demands that a test catches it.

Usage: run.py [--only NAME...] [--jobs N] [--build DIR] [--write FILE]
       run.py --check      every bug's text is where it is said to be; builds nothing

Exit code: 0 when every mutant was caught or is accepted with a reason, 1 when one was not, 2 when the run itself
could not be done. The checkout is only read: what is changed is the copy, which each run makes right before it starts.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CATALOGUE = HERE / "mutants.toml"

# As optimised as compiling is quick; without sanitizers, since the tests are to see the bugs by themselves. "Release"
# because tests/interleave is defined for that alone.
CMAKE_OPTIONS = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                 "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++",
                 "-DASHLAR_UNIT_PROGRAMS=ON", "-DASHLAR_BUILD_TOOLS=OFF", "-DASHLAR_BUILD_EXAMPLES=OFF",
                 "-DASHLAR_BUILD_BENCH=OFF"]
# ccache 4.7 has brought back the object of a header without the bug that was just planted in it.
os.environ["CCACHE_DISABLE"] = "1"
# A test that takes so many times what it takes without a bug, and so many seconds at least, hangs.
PATIENCE_FACTOR = 6
PATIENCE_SECONDS = 20


class CannotRun(Exception):
    """The run cannot be done, or would say nothing: a message for the user."""


def load(path=CATALOGUE):
    """Returns the mutants of a catalogue, each with all that it must have."""
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as fault:  # two of one name, too
        raise CannotRun(f"{path.name}: {fault}") from fault
    mutants = [{"name": name, **table} for name, table in tables.items()]
    for mutant in mutants:
        for key in ("plants", "file", "before", "tests"):
            if not mutant.get(key):
                raise CannotRun(f"{path.name}: the mutant '{mutant['name']}' has no '{key}'")
        if mutant["before"] == mutant.setdefault("after", ""):
            raise CannotRun(f"{path.name}: the mutant '{mutant['name']}' changes nothing")
    return mutants


def planted(mutant, root):
    """Returns the text of the mutant's file with the bug in it."""
    path = root / mutant["file"]
    if not path.is_file():
        raise CannotRun(f"mutant '{mutant['name']}': there is no {mutant['file']}; name the file that has its text now")
    text = path.read_text()
    count = text.count(mutant["before"])
    if count != 1:
        raise CannotRun(f"mutant '{mutant['name']}': its 'before' occurs {count} times in {mutant['file']}, not once; "
                        f"bring it up to date with the source, or delete the mutant if its bug cannot be made any more")
    return text.replace(mutant["before"], mutant["after"])


def check(mutants, root):
    """Returns what keeps mutants from being planted, one message each."""
    faults = []
    for mutant in mutants:
        try:
            planted(mutant, root)
        except CannotRun as fault:
            faults.append(str(fault))
    return faults


def copy_sources(target):
    """Makes `target` a copy of the checkout's sources. What is the same there stays as it is, built."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    sources = {name for name in listed.split("\0") if name and os.path.lexists(ROOT / name)}
    if target.is_dir():
        for path in sorted(target.rglob("*"), reverse=True):
            inside = str(path.relative_to(target))
            if (path.is_symlink() or path.is_file()) and inside not in sources:
                path.unlink()
                if not any(path.parent.iterdir()):  # a folder of tests is one of a suite
                    path.parent.rmdir()
    for name in sources:
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            if not copy.is_symlink() or os.readlink(copy) != os.readlink(source):
                copy.unlink(missing_ok=True)
                copy.symlink_to(os.readlink(source))
        elif not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)


def run(command, seconds, **options):
    """Returns (exit code, output) of a command and all that it starts; the code is None when time ran out."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               start_new_session=True, **options)
    code = None
    try:
        output, _ = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        end_all(process)
        output, _ = process.communicate()
    finally:
        end_all(process)  # a test may have left children behind, and so does an interrupted one
    return code, output.decode(errors="replace")


def end_all(process):
    """Ends what a process of a session of its own has started, and itself."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Tests:
    """The build of the copy, and its tests by name."""

    def __init__(self, source, build, jobs):
        self.build, self.jobs, self.usual_seconds = build, jobs, {}
        code, output = run(["cmake", "-S", str(source), "-B", str(build), *CMAKE_OPTIONS], 300)
        if code != 0:
            raise CannotRun(f"cmake does not configure the copy:\n{output[-2000:]}")
        # Read from ctest's files, since ctest itself does not say what a program that is not built yet is called.
        text = "\n".join(path.read_text() for path in build.rglob("CTestTestfile.cmake"))
        self.programs = dict(re.findall(r'^add_test\((?:\[=\[)?([\w.]+)(?:\]=\])? "([^"]+)"', text, re.MULTILINE))
        self.preloaded = set(re.findall(r"^set_tests_properties\((?:\[=\[)?([\w.]+).*LD_PRELOAD", text, re.MULTILINE))

    def targets(self, names):
        """Returns what has to be built for tests: their programs, and the library that some are run with."""
        wanted = set()
        for name in names:
            program = pathlib.Path(self.programs.get(name, ""))
            if self.build not in program.parents:
                raise CannotRun(f"no test '{name}' that is a program of its own (ctest --test-dir {self.build} -N)")
            wanted.add(program.name)
            if name in self.preloaded:
                wanted.add("ashlar_malloc")
        return sorted(wanted)

    def make(self, names):
        """Returns the compiler's complaint, or None when the tests' programs are built."""
        command = ["cmake", "--build", str(self.build), "-j", str(self.jobs), "--target", *self.targets(names)]
        code, output = run(command, 1800)
        return None if code == 0 else output

    def fails(self, name):
        """Returns None when the test passes, else what failed: the test, or the case of it."""
        usual = self.usual_seconds.get(name, 60)
        start = time.monotonic()
        code, output = run(["ctest", "--test-dir", str(self.build), "-V", "-R", f"^{re.escape(name)}$"],
                           max(PATIENCE_SECONDS, PATIENCE_FACTOR * usual),
                           env={**os.environ, "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "0"})
        if code == 0:
            self.usual_seconds.setdefault(name, time.monotonic() - start)
            return None
        case = re.search(r"\[  FAILED  \] ([\w/]+\.[\w/]+)", output)
        begun = re.findall(r"\[ RUN      \] ([\w/]+\.[\w/]+)", output)
        what = f"{name}: {case.group(1)}" if case else f"{name}: {begun[-1]} (crash)" if begun else name
        if code is None:
            what = f"{name}: {begun[-1]} (hang)" if begun else f"{name} (hang)"
        return what


def try_mutant(mutant, source, tests):
    """Returns (caught, what is told of it) of one mutant; afterwards the copy is as before."""
    path = source / mutant["file"]
    sound = path.read_text()
    try:
        path.write_text(planted(mutant, source))
        complaint = tests.make(mutant["tests"])
        if complaint is not None:
            error = re.search(r"^.*error: .*$", complaint, re.MULTILINE)
            return False, f"does not compile: {error.group(0) if error else complaint[-300:]}"
        for name in mutant["tests"]:
            failed = tests.fails(name)
            if failed is not None:
                return True, failed
        return False, "survived"
    finally:
        path.write_text(sound)


def write_document(path, catalogue, results):
    """Writes the table of what was planted and what caught it; what was not tried now keeps its row."""
    rows = {}
    if path.is_file():
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in path.read_text().splitlines()
                if line.startswith("| ") and not line.startswith("| mutant |")}
    for mutant, is_caught, told in results:
        by = told if is_caught else f"nothing: {mutant['accepted']}"
        cells = [mutant["name"], f"`{mutant['file'].removeprefix('ashlar/')}`", mutant["plants"], by]
        rows[mutant["name"]] = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    kept = [rows[mutant["name"]] for mutant in catalogue if mutant["name"] in rows]
    caught = sum(1 for row in kept if " | nothing: " not in row)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([
        "# Mutants: bugs planted on purpose", "",
        "Generated by `tests/mutants/run.py --write build/results/mutants.md`;",
        "tests/mutants/README.md says how to read and to repeat it.",
        f"{len(kept)} were planted, one at a time: {caught} were caught by a test, {len(kept) - caught} accepted, with "
        "the reason.",
        "Caught by: the test program (`unit_pages_slab` is `ashlar/pages/slab_test.cpp`) and the case that failed.", "",
        "| mutant | file | what it plants | caught by |", "|---|---|---|---|", *kept]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutants, not all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once (default: all processors)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants",
                        help="folder for the copy and its build (default: build/mutants)")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE",
                        help="write the table; with --only, the rows of those")
    parser.add_argument("--check", action="store_true", help="look for each mutant's text only")
    arguments = parser.parse_args()

    mutants = catalogue = load()
    faults = check(mutants, ROOT)
    if faults:
        raise CannotRun("\n".join(faults))
    if arguments.check:
        print(f"{len(mutants)} mutants can be planted")
        return 0
    if arguments.only:
        unknown = set(arguments.only) - {mutant["name"] for mutant in mutants}
        if unknown:
            raise CannotRun(f"no such mutant: {', '.join(sorted(unknown))}")
        mutants = [mutant for mutant in mutants if mutant["name"] in arguments.only]

    begin = time.monotonic()
    source = arguments.build.resolve() / "source"
    copy_sources(source)
    tests = Tests(source, arguments.build.resolve() / "build", arguments.jobs)
    needed = list(dict.fromkeys(name for mutant in mutants for name in mutant["tests"]))
    print(f"{len(mutants)} mutants; first {len(needed)} test programs without any, in {arguments.build}", flush=True)
    complaint = tests.make(needed)
    if complaint is not None:
        raise CannotRun(f"the tests do not build without a mutant:\n{complaint[-3000:]}")
    for name in needed:
        if failed := tests.fails(name):
            raise CannotRun(f"a test fails without a mutant, so it proves nothing: {failed}")

    results = []
    for mutant in mutants:
        start = time.monotonic()
        caught, told = try_mutant(mutant, source, tests)
        results.append((mutant, caught, told))
        excuse = "" if caught or "accepted" not in mutant else f" (accepted: {mutant['accepted']})"
        print(f"{'caught' if caught else 'NOT CAUGHT':10} {mutant['name']}: {told}{excuse} "
              f"[{time.monotonic() - start:.0f} s]", flush=True)

    caught = sum(1 for _, is_caught, _ in results if is_caught)
    at_large = [mutant["name"] for mutant, is_caught, told in results
                if not is_caught and (told != "survived" or "accepted" not in mutant)]
    stale = [mutant["name"] for mutant, is_caught, _ in results if is_caught and "accepted" in mutant]
    print(f"{caught} of {len(results)} caught in {time.monotonic() - begin:.0f} s")
    for name in at_large:
        print(f"not caught: {name}: write the test that sees it, beside the unit that it belongs to")
    for name in stale:
        print(f"caught, though listed as accepted: {name}: delete its 'accepted'")
    if arguments.write and not at_large:
        write_document(arguments.write, catalogue, results)
    return 1 if at_large or stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotRun as message:
        print(f"mutants: {message}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("mutants: interrupted; the checkout is as it was, the copy is made right by the next run",
              file=sys.stderr)
        sys.exit(130)
