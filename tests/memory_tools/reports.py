#!/usr/bin/env python3
"""Runs each case of the programs beside this file under a tool, and looks at what the tool reports.

Usage: reports.py asan|memcheck PROGRAM...
       reports.py malloc_family PROGRAM LIBRARY

A case is named COMPONENT.MISUSE. The report of a free block must have who allocated and who freed it; with
AddressSanitizer every report must name the block, and the pool or arena where it has a name. proper_use has no report.

malloc_family runs under valgrind with the drop-in library preloaded. Memcheck puts its own functions in the place of the
library's: proper use must have no report, every planted mistake the right one, and `ls` none either.
"""
import bisect
import concurrent.futures
import functools
import os
import re
import subprocess
import sys

FREE_BLOCK = {"read_of_a_free_block", "read_of_the_last_free_byte", "read_beyond_into_a_free_block"}
# Their names are known at run time, or not at all.
UNNAMED = ("packed_pool_", "classic_allocator_", "classic_chunks")


# All cases of these have one memory: of several freed blocks within a few bytes of the address, memcheck may name a
# neighbour ("24 bytes before a block of size 20 free'd").
SHARED = ("classic_arena_reuse", "classic_memory_pool", "process_heap_blocks")


def fail(text):
    print(f"reports.py: {text}", file=sys.stderr)
    sys.exit(1)


def cases_of(program):
    return subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.split()


@functools.cache
def symbols_of(program):
    """(address, function), by address."""
    lines = subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    return sorted((int(address, 16), name) for address, kind, name in map(str.split, lines.splitlines())
                  if kind in "tTwW")


def functions_at(program, text):
    """The functions of a stack's frames PROGRAM+OFFSET. (Symbolizing takes long, and a package of its own.)"""
    symbols = symbols_of(program)
    offsets = re.findall(re.escape(os.path.basename(program)) + r"\+(0x[0-9a-f]+)", text)
    return [symbols[bisect.bisect_right(symbols, (int(offset, 16), "~")) - 1][1] for offset in offsets]


def calls(program, stack, function):
    return any(function in name for name in functions_at(program, stack))


def asan_report(program, case):
    environment = dict(os.environ, ASAN_OPTIONS="symbolize=0:detect_leaks=0")
    run = subprocess.run([program, case], env=environment, capture_output=True, text=True, errors="replace")
    if run.returncode not in (0, 1):
        fail(f"{case}: ended with {run.returncode}:\n{run.stderr}")
    return run.stderr if run.returncode else ""


def valgrind(*command, **environment):
    """Returns: what it reports."""
    run = subprocess.run(["valgrind", "-q", "--tool=memcheck", "--error-exitcode=0", *command], capture_output=True, text=True,
                         errors="replace", env={**os.environ, **environment}, check=False)
    if run.returncode != 0:
        fail(f"{command} ended with {run.returncode}:\n{run.stderr}")
    return run.stderr


def by_case(text):
    parts = re.split(r"^case (\S+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def memcheck_reports(program, cases):
    """All cases in one run: starting valgrind takes longer than they do."""
    found = by_case(valgrind(program, *cases))
    if list(found) != list(cases):
        fail(f"the program left cases out: {sorted(set(cases) - set(found))}")
    return found


def check_malloc_family(program, library):
    for proper in ((program, "proper_use"), ("ls", "-l", "/")):
        # Sizes of mappings, and the program's own file of debugging information, are no mistakes of the program.
        text = re.sub(r"^==\d+== Warning: .*\n", "", valgrind(*proper, LD_PRELOAD=library), flags=re.M)
        if text.strip():
            fail(f"{proper} has a report, and there is no mistake:\n{text}")
    cases = by_case(valgrind(program, "mistakes", LD_PRELOAD=library))
    for name, report in cases.items():
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


def section(text, start, end=None):
    """The part of a report between two of its lines."""
    after = text.partition(start)[2]
    return after.partition(end)[0] if end else after


def complaint_asan(program, case, report):
    component, misuse = case.split(".")
    if "ERROR: AddressSanitizer: use-after-poison" not in report:
        return "no use-after-poison"
    line = re.search(r"^ashlar: (0x[0-9a-f]+) is (\d+) bytes (inside|past the end of) the block of (\d+) bytes at "
                     r"(0x[0-9a-f]+)(?: of '([^']+)')?(, which is free)?$", report, re.M)
    if not line:
        return "no line about the block"
    address, offset, place, size, begin, name, is_free = line.groups()
    if int(address, 16) != int(begin, 16) + int(offset) + (0 if place == "inside" else int(size)):
        return f"the line's addresses do not agree: {line.group()}"
    if name != (None if component.startswith(UNNAMED) else "Allocator<T>" if component == "classic_memory_pool"
                else "orders"):
        return f"it names {name}"
    if not calls(program, section(report, "ashlar: allocated by thread T0:", "ashlar: freed"), "allocate_here"):
        return "it does not tell who allocated the block"
    if misuse in FREE_BLOCK:
        if place != "inside" or not is_free:
            return f"the block is not told to be free: {line.group()}"
        if not calls(program, section(report, "ashlar: freed by thread T0:"), "free_here"):
            return "it does not tell who freed the block"
    elif is_free or place == "inside":
        return f"the address is not told to be behind a used block: {line.group()}"
    return None


def complaint_memcheck(_program, case, report):
    if "Invalid read of size 1" not in report:
        return "no invalid read"
    if case.split(".")[1] in FREE_BLOCK:
        place = "(inside|before|after)" if case.startswith(SHARED) else "inside"
        if not re.search(r"Address 0x[0-9a-f]+ is \d+ bytes " + place + r" a block of size \d+ free'd", report):
            return "the block is not told to be free"
        if "free_here" not in section(report, "free'd", "Block was alloc'd at"):
            return "it does not tell who freed the block"
        if "allocate_here" not in section(report, "Block was alloc'd at"):
            return "it does not tell who allocated the block"
    return None


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "malloc_family":
        return check_malloc_family(*sys.argv[2:])
    if len(sys.argv) < 3 or sys.argv[1] not in ("asan", "memcheck"):
        fail(__doc__)
    complaint_of = {"asan": complaint_asan, "memcheck": complaint_memcheck}[sys.argv[1]]
    checked = failed = 0
    for program in sys.argv[2:]:
        cases = cases_of(program)
        reports = {}
        if sys.argv[1] == "asan":
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                reports = dict(zip(cases, pool.map(lambda case: asan_report(program, case), cases)))
        else:
            # Apart, for the same reason.
            proper = [case for case in cases if case.endswith(".proper_use")]
            for some in (proper, [case for case in cases if case not in proper]):
                reports |= memcheck_reports(program, some)
        for case in cases:
            report = reports[case]
            if case.endswith(".proper_use"):
                complaint = "it has a report, and there is no misuse" if report else None
            else:
                complaint = complaint_of(program, case, report)
            checked += 1
            if complaint:
                failed += 1
                print(f"{case}: {complaint}\n{report}", file=sys.stderr)
    if not checked:
        fail("no case: nothing was proved")
    print(f"{checked - failed} of {checked} cases are as they must be")
    return failed != 0


sys.exit(main())
