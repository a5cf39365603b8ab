#!/usr/bin/env python3
"""What recording and sampling cost: programs by themselves and with it, beside other heap profilers, turn by turn.

  bench/recording/cost.py [--runs N] [PROGRAM...]                             `ashlar record`, beside heaptrack
  bench/recording/cost.py --ten [--runs N]                                    both at their defaults, on ten programs
  bench/recording/cost.py --sampling [--instructions] [PROGRAM...]            ASHLAR_SAMPLE, beside tcmalloc and jemalloc

PROGRAM: of bench/programs/real_programs.py (python3_json cc1plus sqlite3), with --ten at their smaller sizes. Processor time (user + system) is that of all that was started, the recorder and what
compresses included. The median of the runs, and in brackets the least. What is missing is left out: scripts/setup.sh
recording. tcmalloc's profiler is on by HEAPPROFILE, with a file at the end only; jemalloc's by prof:true, where it was
built in. Each is beside the same allocator without its profiler. With --instructions, callgrind counts the instructions
of one run instead: the same in every run. (Those of recording: instructions.py.)
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = "/lib64/ld-linux-x86-64.so.2"
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
TCMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4")
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


class Way(NamedTuple):
    beside: str  # the way that its ratios are to
    prefix: list[str]
    variables: dict[str, str]
    written: str = ""  # a pattern of the files that it writes


def programs(folder: pathlib.Path, quick: bool) -> dict[str, list[str]]:
    sys.path.insert(0, str(ROOT / "bench/programs"))
    import real_programs  # pylint: disable=import-outside-toplevel
    os.environ.update(PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
    found = {"git_log": ["/usr/bin/git", "-C", str(ROOT), "log", "--stat", "-n", "300"]}
    for program in real_programs.programs():
        if program.server or program.name == "git_gc" or program.missing():  # git gc works in processes of its own
            continue
        program.prepare(folder, [quick])
        command = [str(word) for word in program.command(folder, quick)]
        if command[0] == "/usr/bin/env":  # heaptrack does not follow it
            while "=" in command[1]:
                os.environ.update([command.pop(1).split("=", 1)])
            command.pop(0)
        found[program.name] = command
    return found


def recording(ashlar: str, folder: pathlib.Path) -> dict[str, Way]:
    base = "by itself"
    found = {base: Way(base, [], {})}
    # heaptrack takes up to 64 frames
    for option in "--no-stacks", "--stacks=8", "--stacks=64":
        found[f"ashlar record {option}"] = Way(base, [ashlar, "record", option, "-o", str(folder / "run.atrace"), "--"], {},
                                               "run.atrace")
    if shutil.which("heaptrack"):
        found["heaptrack --raw"] = Way(base, ["heaptrack", "--raw", "-o", str(folder / "heaptrack")], {}, "heaptrack*")
    return found


def defaults(ashlar: str, folder: pathlib.Path) -> dict[str, Way]:
    base = "by itself"
    return {base: Way(base, [], {}), "ashlar record": Way(base, [ashlar, "record", "-o", str(folder / "run.atrace"), "--"], {},
                                                          "run.atrace"),
            "heaptrack": Way(base, ["heaptrack", "-o", str(folder / "heaptrack")], {}, "heaptrack*")}


def sampling(library: str, folder: pathlib.Path) -> dict[str, Way]:
    found: dict[str, Way] = {}

    def add(name: str, library: str, **variables: str) -> None:
        found[name] = Way(name.split(",")[0], [], {"LD_PRELOAD": library, **variables})

    add("ashlar", library)
    for each in ("512K", "64K"):
        add(f"ashlar, {each}", library, ASHLAR_SAMPLE=each, ASHLAR_SAMPLE_FILE=str(folder / "samples.pb"))
    if TCMALLOC.exists():
        never = str(1 << 50)
        add("tcmalloc", str(TCMALLOC))
        add("tcmalloc, HEAPPROFILE", str(TCMALLOC), HEAPPROFILE=str(folder / "tcmalloc"),
            HEAP_PROFILE_ALLOCATION_INTERVAL=never, HEAP_PROFILE_INUSE_INTERVAL=never)
        add("tcmalloc, 512K sampled", str(TCMALLOC), TCMALLOC_SAMPLE_PARAMETER="524288")
    if JEMALLOC.exists():
        add("jemalloc", str(JEMALLOC))
        tried = subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(JEMALLOC), "MALLOC_CONF": "prof:true"},
                               capture_output=True, text=True, check=False)
        if "Invalid conf" not in tried.stderr:
            add("jemalloc, 512K", str(JEMALLOC), MALLOC_CONF="prof:true,prof_final:true,lg_prof_sample:19,"
                                                             f"prof_prefix:{folder}/jemalloc")
    return found


def run(command: list[str], **variables: str) -> str:
    """What one run printed."""
    done = subprocess.run(command, env={**os.environ, **variables}, check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"cost: {' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def collected(output: str) -> int:
    """The instructions that callgrind tells of."""
    found = re.search(r"Collected : (\d+)", output)
    if not found:
        sys.exit(f"cost: valgrind printed no count:\n{output[-2000:]}")
    return int(found[1])


def events_of(output: str) -> int:
    """As `ashlar record` tells of them; 0 where nobody does."""
    found = re.search(r"([\d,]+) events", output)
    return int(found[1].replace(",", "")) if found else 0


def times(way: Way, command: list[str]) -> tuple[float, float, str]:
    """Processor and wall seconds of one run, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    output = run([*way.prefix, *command], **way.variables)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, output


def instructions(way: Way, command: list[str]) -> int:
    """Of one run. The library is preloaded into the program, not into valgrind."""
    # What ashlar gives back depends on time, of which callgrind takes fifty times as much.
    variables = {"ASHLAR_PURGE_DELAY_MS": "-1", **way.variables}
    return collected(run([*CALLGRIND, "--trace-children=no", LOADER, "--preload", variables.pop("LD_PRELOAD"), *command],
                         **variables))


def measure(ways: dict[str, Way], command: list[str], runs: int, folder: pathlib.Path) -> None:
    """Prints a line for each way: processor time, wall time, and the bytes that it wrote."""
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    sizes: dict[str, int] = {}
    events = 0
    for _ in range(runs):
        for name, way in ways.items():
            used, wall, output = times(way, command)
            samples[name].append((used, wall))
            events = max(events, events_of(output))
            if way.written:
                sizes[name] = sum(file.stat().st_size for file in folder.glob(way.written))
    medians = {name: [statistics.median(column) for column in zip(*runs)] for name, runs in samples.items()}
    for name, way in ways.items():
        (used, wall), (base, base_wall) = medians[name], medians[way.beside]
        size = sizes.get(name)
        print(f"  {name:<26} {used:8.2f} ({min(samples[name])[0]:.2f}) {used / base:6.2f} {wall:9.2f} {wall / base_wall:6.2f} "
              + (f"{size:12,} {size / events:9.2f}" if size and events else ""), flush=True)
    if events:
        print(f"  {events:,} events")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sampling", action="store_true", help="of ASHLAR_SAMPLE, not of `ashlar record`")
    parser.add_argument("--ten", action="store_true", help="ten programs, recorded by default")
    parser.add_argument("--instructions", action="store_true", help="with --sampling: count them, by callgrind")
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    parser.add_argument("--library", default=str(ROOT / "build/release/ashlar/libashlar-malloc.so"))
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    if arguments.runs < 1 or (arguments.instructions and not arguments.sampling):
        parser.error("--instructions wants --sampling" if arguments.runs >= 1 else "--runs is at least 1")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        all_programs = programs(folder, arguments.ten)
        if unknown := sorted(set(arguments.names) - set(all_programs)):
            parser.error(f"no such program: {' '.join(unknown)}")
        ways = (sampling(arguments.library, folder) if arguments.sampling
                else (defaults if arguments.ten else recording)(arguments.ashlar, folder))
        if not arguments.instructions:
            print(f"{'':<28} {'user+system, s':>16} {'ratio':>6} {'wall, s':>9} {'ratio':>6} {'bytes':>12} {'an event':>9}")
        for label in arguments.names or (all_programs if arguments.ten else ["python3_json", "cc1plus", "sqlite3"]):
            print(label)
            if not arguments.instructions:
                measure(ways, all_programs[label], arguments.runs, folder)
                continue
            counts = {name: instructions(way, all_programs[label]) for name, way in ways.items()}
            for name, way in ways.items():
                print(f"  {name:<26} {counts[name]:15,} {100 * (counts[name] / counts[way.beside] - 1):+6.2f} %", flush=True)


if __name__ == "__main__":
    main()
