#!/usr/bin/env python3
"""What recording adds to a program's own instructions, an event: the same in every run, however busy the machine is.

  bench/recording/instructions.py [--objects N] [--ashlar build/release/bin/ashlar]

The program is bench/programs/python_json.py under callgrind. Only its process is counted: not the recorder, which works beside
it, nor what reads heaptrack's output. bench/recording/cost.py measures all of them, in time.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
    parser.add_argument("--objects", type=int, default=3000)
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    arguments = parser.parse_args()
    program = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "/usr/bin/python3",
               str(ROOT / "bench/programs/python_json.py"), str(arguments.objects)]
    alone, _ = run(program)
    with tempfile.TemporaryDirectory() as folder:
        record = [arguments.ashlar, "record", "-o", f"{folder}/run.atrace"]
        plain, events = run([*record, "--", *program])
        added = {"ashlar record": plain - alone}
        for depth in (8, 64):
            added[f"ashlar record --stacks={depth}"] = run([*record, f"--stacks={depth}", "--", *program])[0] - alone
        if HEAPTRACK.exists():
            added["heaptrack (64 frames)"] = run(program, LD_PRELOAD=str(HEAPTRACK),
                                                 DUMP_HEAPTRACK_OUTPUT=f"{folder}/heaptrack")[0] - alone
    print(f"python3, {events:,} events, {alone / events:,.0f} instructions an event by itself; added:")
    for way, instructions in added.items():
        print(f"  {way:<28} {instructions / events:8,.0f}")


if __name__ == "__main__":
    main()
