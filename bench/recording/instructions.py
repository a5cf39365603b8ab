#!/usr/bin/env python3
"""What recording adds to a program's own instructions: the same in every run, however busy the machine is.

  bench/recording/instructions.py [--objects N] [--ashlar build/release/bin/ashlar]      counted: N more of them, after N

The program is bench/programs/python_json.py under callgrind. Only its process is counted: not the recorder, which works beside
it, nor what reads heaptrack's output. bench/recording/cost.py measures all of them, in time. Needs what
scripts/setup.sh recording installs; without heaptrack its line is left out.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = "/lib64/ld-linux-x86-64.so.2"
HEAPTRACK = pathlib.Path("/usr/lib/heaptrack/libheaptrack_preload.so")


def run(command: list[str], **variables: str) -> tuple[int, int]:
    """Instructions, and events where the command tells of them."""
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", **variables}
    done = subprocess.run(command, env=environment, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = re.search(r"Collected : (\d+)", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"instructions: {' '.join(command)} ended with {done.returncode}, valgrind's count "
                 f"{'found' if found else 'missing'}:\n{done.stdout[-2000:]}")
    events = re.search(r"([\d,]+) events", done.stdout)
    return int(found[1]), int(events[1].replace(",", "")) if events else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    arguments = parser.parse_args()
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    counts: dict[str, list[int]] = {}
    events: list[int] = []
    for objects in (arguments.objects, 2 * arguments.objects):  # the difference has no start of a program in it
        python = ["/usr/bin/python3", str(ROOT / "bench/programs/python_json.py"), str(objects)]
        with tempfile.TemporaryDirectory() as folder:
            record = [arguments.ashlar, "record", "-o", f"{folder}/run.atrace"]
            counts.setdefault("by itself", []).append(run([*valgrind, *python])[0])
            plain, recorded = run([*record, "--", *valgrind, *python])
            events.append(recorded)
            counts.setdefault("ashlar record", []).append(plain)
            for depth in (8, 16, 64):
                line = [*record, f"--stacks={depth}", "--", *valgrind, *python]
                counts.setdefault(f"ashlar record --stacks={depth}", []).append(run(line)[0])
            if HEAPTRACK.exists():
                # From the environment it would be preloaded into valgrind itself, and then take the variable away.
                line = [*valgrind, LOADER, "--preload", str(HEAPTRACK), *python]
                output = f"{folder}/heaptrack"
                counts.setdefault("heaptrack (up to 64 frames)", []).append(run(line, DUMP_HEAPTRACK_OUTPUT=output)[0])
    each = {way: (more - less) / (events[1] - events[0]) for way, (less, more) in counts.items()}
    print(f"python3, {events[1] - events[0]:,} events; instructions an event")
    for way, instructions in each.items():
        print(f"  {way:<28} {instructions:8,.0f} {instructions - each['by itself']:+8,.0f}")


if __name__ == "__main__":
    main()
