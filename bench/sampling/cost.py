#!/usr/bin/env python3
"""What sampling costs: programs on the drop-in library without and with ASHLAR_SAMPLE, beside other heap profilers.

  bench/sampling/cost.py [--runs N] [--instructions] [--library build/release/ashlar/libashlar-malloc.so] [PROGRAM...]

PROGRAM: python3 sqlite3 cc1plus. Processor time (user + system) turn by turn: the median of the runs, in brackets the
least. With --instructions, callgrind counts the instructions of one run instead: the same in every run. tcmalloc's
profiler is on by HEAPPROFILE, with a file at the end only; jemalloc's by prof:true, where it was built in. Each is
beside the same allocator without its profiler.
"""
import argparse
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/recording"))
import cost as recording  # noqa: E402  the same programs

TCMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4")
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def ways(library: pathlib.Path, folder: pathlib.Path) -> dict[str, dict[str, str]]:
    ashlar = {"LD_PRELOAD": str(library)}
    sampled = {**ashlar, "ASHLAR_SAMPLE_FILE": str(folder / "samples.pb")}
    found = {"ashlar": ashlar, "ashlar, 512K": {**sampled, "ASHLAR_SAMPLE": "512K"},
             "ashlar, 64K": {**sampled, "ASHLAR_SAMPLE": "64K"}}
    if TCMALLOC.exists():
        tcmalloc = {"LD_PRELOAD": str(TCMALLOC)}
        found["tcmalloc"] = tcmalloc
        found["tcmalloc, HEAPPROFILE"] = {**tcmalloc, "HEAPPROFILE": str(folder / "tcmalloc"),
                                          "HEAP_PROFILE_ALLOCATION_INTERVAL": str(1 << 50),
                                          "HEAP_PROFILE_INUSE_INTERVAL": str(1 << 50)}
        found["tcmalloc, 512K sampled"] = {**tcmalloc, "TCMALLOC_SAMPLE_PARAMETER": "524288"}
    if JEMALLOC.exists():
        jemalloc = {"LD_PRELOAD": str(JEMALLOC)}
        found["jemalloc"] = jemalloc
        tried = subprocess.run(["/bin/true"], env={**jemalloc, "MALLOC_CONF": "prof:true"}, capture_output=True,
                               text=True, check=False)
        if "Invalid conf" not in tried.stderr:
            found["jemalloc, 512K"] = {**jemalloc, "MALLOC_CONF": f"prof:true,prof_final:true,lg_prof_sample:19,"
                                                                  f"prof_prefix:{folder}/jemalloc"}
    return found


def run(command: list[str], variables: dict[str, str]) -> float:
    """Processor seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"cost: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def count(command: list[str], variables: dict[str, str]) -> int:
    """Instructions of one run. The library is preloaded into the program, not into valgrind."""
    library = variables["LD_PRELOAD"]
    line = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no",
            "/lib64/ld-linux-x86-64.so.2", "--preload", library, *command]
    # What ashlar gives back depends on time, of which callgrind takes fifty times as much.
    environment = {**os.environ, "ASHLAR_PURGE_DELAY_MS": "-1", **{k: v for k, v in variables.items() if k != "LD_PRELOAD"}}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        sys.exit(f"cost: {' '.join(line)}:\n{done.stderr[-2000:]}")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--only", default="", metavar="WORD", help="ways that begin so")
    parser.add_argument("--library", default=str(ROOT / "build/release/ashlar/libashlar-malloc.so"))
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = recording.programs(folder)
        script = ROOT / "bench/programs/sqlite_joins.sql"
        programs["sqlite3"] = ["/usr/bin/sqlite3", "-batch", ":memory:", f".read {script}"]
        unknown = sorted(set(arguments.names) - set(programs))
        if unknown or arguments.runs < 1:
            parser.error(f"no such program: {' '.join(unknown)}" if unknown else "--runs is at least 1")
        all_ways = {way: v for way, v in ways(pathlib.Path(arguments.library), folder).items()
                    if way.startswith(arguments.only)}
        for label in arguments.names or programs:
            command = programs[label]
            figures: dict[str, list[float]] = {way: [] for way in all_ways}
            for _ in range(1 if arguments.instructions else arguments.runs):
                for way, variables in all_ways.items():
                    figures[way].append(count(command, variables) if arguments.instructions else run(command, variables))
            for way, values in figures.items():
                base = statistics.median(figures[way.split(",")[0]])
                middle = statistics.median(values)
                shown = f"{middle:15,.0f}" if arguments.instructions else f"{middle:6.3f} ({min(values):6.3f})"
                print(f"{label:<8} {way:<24} {shown} {100 * (middle / base - 1):+6.2f} %", flush=True)


if __name__ == "__main__":
    main()
