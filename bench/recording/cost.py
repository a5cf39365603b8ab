#!/usr/bin/env python3
"""What recording costs: programs by themselves, under `ashlar record` and under heaptrack, turn by turn.

  bench/recording/cost.py [--runs N] [--ashlar build/release/bin/ashlar] [PROGRAM...]     PROGRAM: python3 cc1plus

Processor time (user + system) is that of all that was started, the recorder and what compresses included. The median of
the runs, and in brackets the least. heaptrack is left out where it is missing: scripts/setup.sh recording.
"""
import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def programs(folder: pathlib.Path) -> dict[str, list[str]]:
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True).stdout.strip()
    source = folder / "includes.ii"
    subprocess.run(["g++", "-std=c++20", "-E", str(ROOT / "bench/programs/includes.cpp"), "-o", str(source)], check=True)
    # In the environment of all, since heaptrack does not follow env(1) to what that executes.
    os.environ.update(PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
    return {"python3": ["/usr/bin/python3", str(ROOT / "bench/programs/python_json.py")],
            "cc1plus": [compiler, "-quiet", "-fpreprocessed", "-std=c++20", "-O1", str(source), "-o", "/dev/null"]}


def measure(command: list[str], log: pathlib.Path) -> tuple[float, float]:
    """Wall and processor seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with log.open("w") as out:
        code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code != 0:
        sys.exit(f"cost: {' '.join(command)} ended with {code}:\n{log.read_text()[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    parser.add_argument("--skip", default="", metavar="WORD", help="leave out the ways with it, as in stacks")
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        all_programs = programs(folder)
        unknown = sorted(set(arguments.names) - set(all_programs))
        if unknown or arguments.runs < 1:
            parser.error(f"no such program: {' '.join(unknown)}" if unknown else "--runs is at least 1")
        print(f"{'':<28} {'user+system, s':>16} {'ratio':>6} {'wall, s':>9} {'ratio':>6} {'bytes':>12} {'an event':>9}")
        for label in arguments.names or all_programs:
            command = all_programs[label]
            trace, profile, heaptrack = folder / "run.atrace", folder / "run.aprof", folder / "heaptrack"
            ways = {"by itself": command,
                    "ashlar record": [arguments.ashlar, "record", "-o", str(trace), "--", *command]}
            for depth in (8, 64):  # heaptrack takes up to 64
                ways[f"ashlar record --stacks={depth}"] = [arguments.ashlar, "record", f"--stacks={depth}", "-o", str(trace),
                                                           "--", *command]
            ways["ashlar record --profile"] = [arguments.ashlar, "record", "--profile", "-o", str(profile), "--", *command]
            if shutil.which("heaptrack"):
                ways["heaptrack --raw"] = ["heaptrack", "--raw", "-o", str(heaptrack), *command]
            ways = {way: line for way, line in ways.items() if not arguments.skip or arguments.skip not in way}
            samples: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
            sizes: dict[str, int] = {}
            events = 0
            for _ in range(arguments.runs):
                for way, line in ways.items():
                    samples[way].append(measure(line, folder / "log"))
                    if "--profile" in way:
                        sizes[way] = profile.stat().st_size
                    elif "ashlar" in way:
                        sizes[way] = trace.stat().st_size
                        text = (folder / "log").read_text()
                        events = int(text.split(": ")[-1].split(" events")[0].replace(",", ""))
                    elif "heaptrack" in way:
                        sizes[way] = sum(file.stat().st_size for file in folder.glob("heaptrack*"))
            base_wall, base = (statistics.median(column) for column in zip(*samples["by itself"]))
            print(f"{label}, {events:,} events")
            for way, runs in samples.items():
                walls, times = zip(*runs)
                wall, used = statistics.median(walls), statistics.median(times)
                size = sizes.get(way)
                print(f"  {way:<26} {used:8.2f} ({min(times):.2f}) {used / base:6.2f} {wall:9.2f} {wall / base_wall:6.2f} "
                      + (f"{size:12,} {size / events:9.2f}" if size else ""), flush=True)


if __name__ == "__main__":
    main()
