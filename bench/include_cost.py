#!/usr/bin/env python3
"""Measures what a program pays for an include: headers of ashlar, lines, and the compiler's time.

Lines are those that are left after preprocessing. Times are of the processor, the median of ROUNDS
runs of the compiler on a source with that include alone, and vary by some 5 %.
Run: bench/include_cost.py [HEADER...]      HEADER as in #include <...>; CXX is the compiler
"""

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", f"-I{ROOT}"]
ROUNDS = 9
HEADERS = ("ashlar/adapt/allocator.hpp", "ashlar/adapt/pmr.hpp", "ashlar/instance/heap.hpp", "ashlar/ashlar.hpp",
           "memory", "memory_resource", "mimalloc.h")


def run(options, source):
    """Returns: what the compiler prints, and its processor time in ms."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([*COMPILER, *options, source], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(f"include_cost: there is no compiler {COMPILER[0]}: set CXX to one")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"include_cost: {done.stderr.strip().splitlines()[0]}")
    return done.stdout, 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def median_time(options, source):
    return statistics.median(run(options, source)[1] for _ in range(ROUNDS))


def row(header, source):
    source.write_text(f"#include <{header}>\n")
    ours = {name for name in re.findall(r"\S+", run(["-M"], source)[0]) if name.startswith(f"{ROOT}/ashlar/")}
    our_lines = sum(len(Path(name).read_text().splitlines()) for name in ours)
    lines = sum(bool(line.strip()) for line in run(["-E", "-P"], source)[0].splitlines())
    preprocessing, compiling = (median_time([option], source) for option in ("-E", "-fsyntax-only"))
    shown = header if header.startswith("ashlar/") else f"<{header}>"
    return f"| `{shown}` | {len(ours)} | {our_lines} | {lines} | {preprocessing:.0f} | {compiling:.0f} |"


def main():
    print("| include | headers of ashlar | their lines | all lines | to preprocess, ms | to compile, ms |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for header in sys.argv[1:] or HEADERS:
            print(row(header, Path(folder) / "include.cpp"), flush=True)


if __name__ == "__main__":
    main()
