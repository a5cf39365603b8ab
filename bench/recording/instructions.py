#!/usr/bin/env python3
"""What recording adds to a program's own instructions: the same in every run, however busy the machine is.

  bench/recording/instructions.py [--objects N] [--ashlar build/release/bin/ashlar]      counted: N more of them, after N

The program is bench/programs/python_json.py under callgrind. Only its process is counted: not the recorder, which works beside
it, nor what reads heaptrack's output. bench/recording/cost.py measures all of them, in time. Needs what
scripts/setup.sh recording installs; without heaptrack its line is left out.
"""
import argparse
import collections
import pathlib
import tempfile

from cost import CALLGRIND, LOADER, ROOT, collected, events_of, run

HEAPTRACK = pathlib.Path("/usr/lib/heaptrack/libheaptrack_preload.so")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    arguments = parser.parse_args()
    outputs: dict[str, list[str]] = collections.defaultdict(list)
    for objects in (arguments.objects, 2 * arguments.objects):  # the difference has no start of a program in it
        python = ["/usr/bin/python3", str(ROOT / "bench/programs/python_json.py"), str(objects)]
        with tempfile.TemporaryDirectory() as folder:
            record = [arguments.ashlar, "record", "-o", f"{folder}/run.atrace"]
            lines = {"by itself": [*CALLGRIND, *python],
                     "ashlar record --no-stacks": [*record, "--no-stacks", "--", *CALLGRIND, *python]}
            for depth in (8, 16, 64):
                lines[f"ashlar record --stacks={depth}"] = [*record, f"--stacks={depth}", "--", *CALLGRIND, *python]
            if HEAPTRACK.exists():
                # From the environment it would be preloaded into valgrind itself, and then take the variable away.
                lines["heaptrack (up to 64 frames)"] = [*CALLGRIND, LOADER, "--preload", str(HEAPTRACK), *python]
            for way, line in lines.items():
                outputs[way].append(run(line, PYTHONMALLOC="malloc", PYTHONHASHSEED="0",
                                        DUMP_HEAPTRACK_OUTPUT=f"{folder}/heaptrack"))
    less, more = map(events_of, outputs["ashlar record --no-stacks"])
    print(f"python3, {more - less:,} events; instructions an event")
    each = {way: (collected(after) - collected(before)) / (more - less) for way, (before, after) in outputs.items()}
    for way, count in each.items():
        print(f"  {way:<28} {count:8,.0f} {count - each['by itself']:+8,.0f}")


if __name__ == "__main__":
    main()
