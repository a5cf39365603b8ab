#!/usr/bin/env python3
"""Runs the malloc family under valgrind with the drop-in library preloaded, and looks at what memcheck reports.

Usage: malloc_family.py LIBRARY PROGRAM

Memcheck puts its own functions in the place of the library's. Proper use must have no report, every planted mistake the
right one, and `ls` none either.
"""
import os
import re
import subprocess
import sys


def fail(text):
    print(f"malloc_family.py: {text}", file=sys.stderr)
    sys.exit(1)


def reports(library, *command):
    environment = dict(os.environ, LD_PRELOAD=library)
    run = subprocess.run(["valgrind", "-q", "--error-exitcode=0", *command], env=environment, capture_output=True,
                         text=True, errors="replace")
    if run.returncode != 0:
        fail(f"{command} ended with {run.returncode}:\n{run.stderr}")
    return run.stderr


def main():
    if len(sys.argv) != 3:
        fail(__doc__)
    library, program = sys.argv[1:]
    for proper in ([program, "proper_use"], ["ls", "-l", "/"]):
        # Sizes of mappings, and the program's own file of debugging information, are no mistakes of the program.
        text = re.sub(r"^==\d+== Warning: .*\n", "", reports(library, *proper), flags=re.M)
        if text.strip():
            fail(f"{proper} has a report, and there is no mistake:\n{text}")
    parts = re.split(r"^case (\S+)\n", reports(library, program, "mistakes"), flags=re.M)
    cases = list(zip(parts[1::2], parts[2::2]))
    for name, report in cases:
        if name == "freed_twice":
            expected = r"Invalid free\(\)"
        elif re.match("free|delete|.*_away$", name):
            expected = r"Invalid read of size 1\n(.*\n)*?.* is 0 bytes inside a block of size 40 free'd"
        else:
            expected = r"Invalid read of size 1\n(.*\n)*?.* is 0 bytes after a block of size [0-9,]+ alloc'd"
        if not re.search(expected, report):
            fail(f"{name}: memcheck does not tell of it:\n{report}")
    if len(cases) < 30:
        fail(f"{len(cases)} cases: some were left out")
    print(f"{len(cases)} mistakes are told, proper use has no report")


main()
