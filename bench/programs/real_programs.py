#!/usr/bin/env python3
"""The real, unmodified programs of the benchmark: how each is prepared, run and checked.

Every program does the same work in every run, and says or leaves something from which check() sees that its
answer is right; the answer is known beforehand, or was recorded by prepare() from a run on the system's malloc.

One run of a program, in this order (run_once() does it; a benchmark does the same and measures):
    program.prepare(work)                    once; keeps what is there and still fits. prepare(work, [quick]): one mode
    program.before_run(work)                 untimed: puts back what the last run changed
    start program.command(work, quick)       with LD_PRELOAD=program.preload(library), where that is not empty:
                                             the process, with its children, that is measured
    a server only:  driven = program.drive(work, quick)   clients, not preloaded; driven.seconds is its wall time
                    (the server is idle now: the time to read its memory)
                    program.stop(work)       it ends by itself
    program.check(work, finished)            None, or what is wrong; of a server, stdout is driven.output
"""

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, NamedTuple, Optional

import git_history
import redis_load
import smt_problem

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ashlar_bench import allocators  # noqa: E402
from ashlar_bench.allocators import ROOT  # noqa: E402

TIMEOUT = 120  # seconds for one run on a loaded machine; each takes 1 to 5
SKIPPED = 77  # CTest's usual status for a test that had nothing to run
C_LIBRARY = "libc.so.6"


class Finished(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


class Driven(NamedTuple):
    """What a server's clients found: the time they took, requests per second by kind, text for check()."""
    seconds: float
    per_second: dict
    output: bytes


BOTH_MODES = (True, False)  # quick, full


def nothing(_work, _modes=BOTH_MODES):
    pass


@dataclass(frozen=True)
class Program:
    name: str
    what: str
    needs: list  # Debian packages
    tools: list  # commands those packages bring
    prepare: Callable[..., None]  # (work, modes=BOTH_MODES)
    command: Callable[[Path, bool], list]
    check: Callable[[Path, Finished], Optional[str]]
    before_run: Callable[[Path], None] = nothing
    drive: Optional[Callable[[Path, bool], Driven]] = None
    stop: Optional[Callable[[Path], None]] = None
    linked_allocator: Optional[str] = None  # one that it is linked against; see preload()

    @property
    def server(self):
        return self.drive is not None

    def preload(self, library):
        """What LD_PRELOAD must be for the program to run on that library, "" being the C library's malloc.

        A program linked against an allocator runs on that one until another comes before it, and so the C library
        must itself be preloaded.
        """
        return library or (C_LIBRARY if self.linked_allocator else "")

    def missing(self):
        return [tool for tool in self.tools if not find(tool)]


# ---- what the programs below share ----

def find(tool):
    """The distribution's own command before one that a version manager put in front of it."""
    return shutil.which(tool, path="/usr/bin:/bin") or shutil.which(tool)


def clean_environment():
    """Ours, less whatever tunes an allocator or the language."""
    return {**allocators.clean_environment(), "LC_ALL": "C", "TZ": "UTC"}


def output_of(command, **options):
    """Runs a step of the preparation on the system's malloc; its standard output. Raises RuntimeError."""
    done = subprocess.run([str(part) for part in command], env=clean_environment(), capture_output=True,
                          timeout=TIMEOUT, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: "
                           + done.stderr.decode(errors="replace").strip()[-500:])
    return done.stdout


def digest(*parts):
    return hashlib.sha256(b"\0".join(p if isinstance(p, bytes) else str(p).encode() for p in parts)).hexdigest()


def make_once(work, name, made_from, make):
    """Calls make() unless `work` has what it made from the same things. Its result, a text or nothing, is kept."""
    work.mkdir(parents=True, exist_ok=True)
    record = work / f"{name}.made"
    if record.is_file() and record.read_text().partition("\n")[0] == made_from:
        return
    record.unlink(missing_ok=True)
    result = make()
    record.write_text(f"{made_from}\n{result or ''}")


def known_output(*answers):
    """A check: the output is one of these, one per mode."""
    def check(_work, finished):
        said = finished.stdout.decode(errors="replace").strip()
        return None if said in answers else f"it printed {said[:200]!r} instead of {' or '.join(map(repr, answers))}"
    return check


def record_output(work, name, quick, made_from, make):
    """Keeps the digest of what make() returns, the output of a run on the system's malloc."""
    make_once(work, f"{name}_{'quick' if quick else 'full'}", made_from, lambda: digest(make()))


def recorded_output(name):
    """A check: the output has one of the digests that prepare() recorded, one per mode."""
    def check(work, finished):
        if not finished.stdout:
            return "it printed nothing"
        records = (record.read_text().partition("\n")[2] for record in work.glob(f"{name}_*.made"))
        if digest(finished.stdout) in records:
            return None
        return f"its output ({len(finished.stdout)} bytes) is not that of the system's malloc"
    return check


def checked(check):
    """A check that asks for a normal end first."""
    def whole(work, finished):
        if finished.returncode != 0:
            how = f"signal {-finished.returncode}" if finished.returncode < 0 else f"status {finished.returncode}"
            last = finished.stderr.decode(errors="replace").strip().splitlines()[-1:]
            return f"it ended with {how}: {last[0] if last else 'no message'}"
        return check(work, finished)
    return whole


def script(name, what, needs, interpreter, file, sizes, answers, settings=()):
    """A program of an interpreter: one file, and a size that is smaller in quick mode."""
    def command(_work, quick):
        environment = ["/usr/bin/env", *settings] if settings else []
        return [*environment, find(interpreter), str(HERE / file), str(sizes[0] if quick else sizes[1])]
    return Program(name, what, needs, [interpreter], nothing, command, checked(known_output(*answers)))


# ---- the programs that need more than a script ----

def cc1plus_path():
    return output_of([find("g++"), "-print-prog-name=cc1plus"]).decode().strip()


def cc1plus():
    """The compiler proper on preprocessed sources. The driver is left out: it would be measured in its place."""
    sources = {True: "containers.cpp", False: "includes.cpp"}

    def preprocessed(work, quick):
        return work.resolve() / f"cc1plus_{Path(sources[quick]).stem}.ii"

    def command(work, quick):
        return [cc1plus_path(), "-quiet", "-fpreprocessed", "-std=c++20", "-O1", str(preprocessed(work, quick)),
                "-o", "-"]

    def prepare(work, modes=BOTH_MODES):
        version = output_of([find("g++"), "--version"])
        for quick in modes:
            def compile_once(quick=quick):  # run there, so that no path of this machine is in the output
                output_of([find("g++"), "-std=c++20", "-E", sources[quick], "-o", preprocessed(work, quick)], cwd=HERE)
                return output_of(command(work, quick))
            made_from = digest(version, *command(work, quick), (HERE / sources[quick]).read_bytes())
            record_output(work, "cc1plus", quick, made_from, compile_once)

    return Program("cc1plus", "compiles much of the standard library, -O1", ["g++"], ["g++"], prepare, command,
                   checked(recorded_output("cc1plus")))


def git_gc():
    """Packs a generated history anew. Two threads, whatever the machine has, and the pack is theirs to divide."""
    commits, objects = 500, "6560"
    head = "91913742042bb1cf02b6e29393ffd074df3e93e9"

    def command(work, quick):
        settings = ("gc.autoDetach=false", "pack.threads=2", f"gc.aggressiveWindow={10 if quick else 50}",
                    "core.hooksPath=/dev/null")
        return ["/usr/bin/env", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", find("git"),
                "-C", str(work / "git_run"), *(part for setting in settings for part in ("-c", setting)),
                "gc", "--aggressive", "--prune=now", "--quiet"]

    def prepare(work, _modes=BOTH_MODES):
        def make():
            pristine = work / "git_pristine"
            shutil.rmtree(pristine, ignore_errors=True)
            output_of([find("git"), "init", "--quiet", "--bare", "--initial-branch=main", pristine])
            with open(work / "git_history.stream", "w+b") as stream:
                git_history.write_history(commits, stream)
                stream.seek(0)
                output_of([find("git"), "-C", pristine, "fast-import", "--quiet", "--done"], stdin=stream)
        make_once(work, "git_gc", digest((HERE / "git_history.py").read_bytes(), commits), make)

    def before_run(work):
        shutil.rmtree(work / "git_run", ignore_errors=True)
        shutil.copytree(work / "git_pristine", work / "git_run")

    def check(work, _finished):
        git = [find("git"), "-C", work / "git_run"]
        try:
            output_of([*git, "fsck", "--full", "--strict", "--no-progress"])
            counted = dict(line.split(": ") for line in output_of([*git, "count-objects", "-v"]).decode().splitlines())
            at = output_of([*git, "rev-parse", "main"]).decode().strip()
        except RuntimeError as problem:
            return str(problem)
        if at != head:
            return f"the branch is at {at} instead of {head}"
        if (counted["count"], counted["packs"], counted["in-pack"]) != ("0", "1", objects):
            return f"not all {objects} objects are in one pack: {counted}"
        return None

    return Program("git_gc", "git gc --aggressive of a generated history", ["git"], ["git"], prepare, command,
                   checked(check), before_run)


def ghostscript():
    """Draws pages of curves, gradients and text, and writes them as PNG."""
    def command(_work, quick):
        return [find("gs"), "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=png16m", "-r72", "-sstdout=%stderr",
                "-sOutputFile=%stdout", f"-dpages={2 if quick else 7}", str(HERE / "drawing.ps")]

    def prepare(work, modes=BOTH_MODES):
        version = output_of([find("gs"), "--version"])
        for quick in modes:
            made_from = digest(version, *command(work, quick), (HERE / "drawing.ps").read_bytes())
            record_output(work, "ghostscript", quick, made_from, lambda quick=quick: output_of(command(work, quick)))

    return Program("ghostscript", "draws a generated PostScript document", ["ghostscript"], ["gs"], prepare, command,
                   checked(recorded_output("ghostscript")))


def z3():
    """Proves three theorems; the right answer is known from how they were generated."""
    sizes = {True: (8, 13, 80), False: (9, 14, 130)}

    def file(work, quick):
        return work / f"z3_{'quick' if quick else 'full'}.smt2"

    def prepare(work, _modes=BOTH_MODES):
        def make():
            for quick, size in sizes.items():
                file(work, quick).write_text("\n".join(smt_problem.problem(*size)) + "\n")
        make_once(work, "z3", digest((HERE / "smt_problem.py").read_bytes(), sizes), make)

    return Program("z3", "pigeons, a prime's factors and array writes, all unsatisfiable", ["z3"], ["z3"], prepare,
                   lambda work, quick: [find("z3"), str(file(work, quick))],
                   checked(known_output("unsat\nunsat\nunsat")))


def redis():
    """The server alone is measured; redis-cli and redis-benchmark drive it from outside."""
    def command(work, _quick):
        return redis_load.server_command(find("redis-server"), work.resolve())

    def before_run(work):
        work.mkdir(parents=True, exist_ok=True)
        (work / redis_load.SOCKET).unlink(missing_ok=True)

    def drive(work, quick):
        seconds, per_second, verdict = redis_load.drive(find("redis-cli"), find("redis-benchmark"), work, quick)
        return Driven(seconds, per_second, verdict.encode())

    return Program("redis", "redis-server under redis-benchmark, in memory, Unix socket",
                   ["redis-server", "redis-tools"], ["redis-server", "redis-cli", "redis-benchmark"],
                   nothing, command, checked(known_output("all data as written")), before_run, drive,
                   lambda work: redis_load.stop(find("redis-cli"), work), linked_allocator="libjemalloc.so.2")


def sqlite():
    def command(_work, quick):
        smaller = ["-cmd", "PRAGMA temp_store = MEMORY", "-cmd", ".parameter set @purchases 120000"] if quick else []
        return [find("sqlite3"), "-batch", *smaller, ":memory:", f".read {HERE / 'sqlite_joins.sql'}"]
    return Program("sqlite3", "loads, indexes, joins and groups in memory", ["sqlite3"], ["sqlite3"], nothing, command,
                   checked(known_output("500|59940000\n120000\n40000|65\n60000|1193992",
                                        "500|149850000\n980000\n40000|175\n150000|2984983")))


PYTHON_SETTINGS = ("PYTHONMALLOC=malloc", "PYTHONHASHSEED=0")  # every object a block of malloc's, always the same


def programs():
    return [
        script("python3_json", "a JSON round trip", ["python3"], "python3", "python_json.py", (30_000, 120_000),
               ("3635387 97 60000", "14714890 97 240000"), PYTHON_SETTINGS),
        script("python3_objects", "parses, rewrites and prints source", ["python3"], "python3", "python_objects.py",
               (150, 600), ("150 21904 451 3064 1706 True 3092fcfcd2076d1c",
                            "600 87604 1801 11598 6420 True efac0b40a8f59470"), PYTHON_SETTINGS),
        cc1plus(),
        sqlite(),
        redis(),
        git_gc(),
        script("perl", "an index of words, patterns, a tree of closures", ["perl"], "perl", "perl_text.pl",
               (30_000, 100_000), ("30000 27833 663495 47185447 14999 30000 107488958",
                              "100000 78502 1984397 139106480 49999 100000 621502870"),
               ("PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0")),
        script("lua", "search trees, strings, closures", ["lua5.4"], "lua5.4", "lua_tables.lua", (12, 50),
               ("12\t204608490\t989508088", "50\t327491207\t295953163")),
        script("ruby", "orders grouped, printed and forgotten", ["ruby"], "ruby", "ruby_objects.rb", (20_000, 120_000),
               ("20000 8448 713855 50146676 692718461 article 98=1702665",
                "120000 9900 856336 60011176 833467253 article 644=1890819")),
        ghostscript(),
        z3(),
    ]


# ---- one run, and the command line ----

def run_once(program, work, quick, library="", settings=(), prefix=(), timeout=TIMEOUT):
    """The finished run and its wall time; `library` None preloads nothing at all. Raises RuntimeError when it could not be carried out."""
    environment = clean_environment()
    environment.update(setting.split("=", 1) for setting in settings)
    if preload := program.preload(library) if library is not None else "":
        environment["LD_PRELOAD"] = preload
    program.before_run(work)
    started = time.monotonic()
    process = subprocess.Popen([*prefix, *program.command(work, quick)], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        driven = None
        if program.server:
            driven = program.drive(work, quick)
            program.stop(work)
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it did not end within {timeout} s") from None
    finally:
        if process.poll() is None:  # and its children: it leads a session of its own
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = driven.seconds if driven else time.monotonic() - started
    return Finished(process.returncode, driven.output if driven else stdout, stderr), seconds


def what_is_wrong(program, work, quick, library, settings=()):
    """None and the time taken, or what went wrong."""
    try:
        finished, seconds = run_once(program, work, quick, library, settings)
        for alarm in (b"ashlar:", b"ld.so:"):  # a diagnosis, or the loader that did without the library
            if alarm in finished.stderr:
                return finished.stderr.decode(errors="replace").strip()[-500:], seconds
        return program.check(work, finished), seconds
    except RuntimeError as problem:
        return str(problem), 0.0


def check_all(chosen, work, quick, libraries, settings):
    """Runs each on the system's malloc and on each library; the exit status."""
    passed = failed = skipped = 0
    for program in chosen:
        if program.missing():
            print(f"SKIPPED {program.name}: no {', '.join(program.missing())}; run scripts/setup.sh programs",
                  flush=True)
            skipped += 1
            continue
        program.prepare(work, [quick])
        for library in ["", *libraries]:
            wrong, seconds = what_is_wrong(program, work, quick, library, settings if library else ())
            on = Path(library).name if library else "the system's malloc"
            print(f"{program.name} on {on}: {wrong or f'right, {seconds:.2f} s'}", flush=True)
            passed, failed = passed + (wrong is None), failed + (wrong is not None)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0 if passed else SKIPPED


def setting(text):
    if not re.fullmatch(r"\w+=.*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text


def parse_arguments():
    parser = argparse.ArgumentParser(description="The real programs of the benchmark: list, prepare or check them.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="one program a line: name, packages, what it does")
    what.add_argument("--prepare", action="store_true", help="make their inputs in the work folder")
    what.add_argument("--check", nargs="*", metavar="NAME", help="run them (all without a name) and check the answers")
    parser.add_argument("--lib", action="append", default=[], metavar="FILE",
                        help="check on this preloaded library too; may be repeated")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", type=setting,
                        help="with --lib: a variable of the program's environment, such as ASHLAR_CHECK=full")
    parser.add_argument("--quick", action="store_true", help="the smaller sizes")
    parser.add_argument("--work", type=Path, default=ROOT / "build/programs", help="folder (default: build/programs)")
    return parser.parse_args()


def main():
    options = parse_arguments()
    everything = programs()
    if options.list:
        for program in everything:
            print(f"{program.name}\t{','.join(program.needs)}\t{program.what}")
        return 0
    unknown = set(options.check or ()) - {program.name for program in everything}
    if unknown:
        sys.exit(f"real_programs: unknown program {', '.join(sorted(unknown))}; --list shows them")
    for library in options.lib:
        if "/" in library and not Path(library).is_file():
            sys.exit(f"real_programs: --lib {library}: no such file")
    libraries = [str(Path(library).resolve()) if "/" in library else library for library in options.lib]
    work = options.work.resolve()
    if options.prepare:
        for program in everything:
            if not program.missing():
                program.prepare(work)
                print(f"{program.name}: prepared", flush=True)
        return 0
    chosen = [program for program in everything if not options.check or program.name in options.check]
    return check_all(chosen, work, options.quick, libraries, options.set)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nreal_programs: interrupted")
    except RuntimeError as failure:
        sys.exit(f"real_programs: {failure}")
