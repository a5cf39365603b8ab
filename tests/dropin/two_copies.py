#!/usr/bin/env python3
"""Two drop-in libraries in one process: the one that does nothing says so in one line, with both files' names.

Usage: two_copies.py LIBRARY VERSION LINKED_PROGRAM FOLDER       LINKED_PROGRAM: one that ashlar-malloc.o is part of
"""
import json
import os
import shutil
import subprocess
import sys


def fail(text):
    print(f"two_copies.py: {text}", file=sys.stderr)
    sys.exit(1)


def told(preload, command, **extra):
    """What the command says on standard error."""
    run = subprocess.run(command, env=dict(os.environ, LD_PRELOAD=preload, **extra), capture_output=True, text=True)
    if run.returncode != 0:
        fail(f"{command} with LD_PRELOAD={preload} ended with {run.returncode}:\n{run.stderr}")
    return run.stderr


def expect_line(text, version, serving, idle):
    expected = (f"ashlar: two copies in one process: {serving} ({version}) serves malloc and {idle} ({version}) does "
                "nothing: preload or link only one of them\n")
    if text != expected:
        fail(f"expected: {expected}was told: {text}")


def main():
    if len(sys.argv) != 5:
        fail(__doc__)
    library, version, program, folder = sys.argv[1:]
    linked = [program, "16", "112", "1152"]
    os.makedirs(folder, exist_ok=True)
    other = os.path.join(folder, "libashlar-malloc-other.so")
    shutil.copyfile(library, other)
    if text := told(library, ["true"]) or told(f"{library}:{library}", ["true"]):
        fail(f"one copy, and it was told: {text}")
    expect_line(told(f"{library}:{other}", ["true"]), version, library, other)
    expect_line(told(f"{other}:{library}", ["true"]), version, other, library)
    # The one that does nothing must not write its own empty statistics over the other's.
    file = os.path.join(folder, "stats.json")
    told(f"{library}:{other}", ["ls", "/"], ASHLAR_STATS_FILE=file)
    with open(file, encoding="utf-8") as stats:
        if json.load(stats)["total"]["allocations"] == 0:
            fail("the statistics are of the copy that does nothing")
    # Linked: the program's definitions come before a preloaded library's.
    if text := told("", linked):
        fail(f"the linked program alone was told: {text}")
    expect_line(told(library, linked), version, program, library)
    print("as expected")


main()
