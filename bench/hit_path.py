#!/usr/bin/env python3
"""Counts the instructions of one hit of each function of a preloaded library, by callgrind.

hit_path.c runs its loop N and 2N times; the difference over N is the cost of a round in steady state.
A function's count is what callgrind attributes to its call in those loops, with whatever it calls. Clearing is
part of calloc's count up to 256 bytes. Beyond, what memset takes for as many bytes is subtracted.

With --golden FILE the counts are compared with that file: more than it says is a failure.
With --golden FILE --update the file is written.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (8, 16, 64, 256, 1024, 8192)
ITERATIONS = 10_000  # other allocators do something else now and then
CLEARING = "clearing"
CLEARING_COUNTED_MAX = 256  # bytes; beyond, the C library clears, in a way that depends on the processor
LOOPS = ("c_loop", "cxx_loop")
SOURCE = Path(__file__).resolve().parent / "hit_path.c"
TOLERANCE = 0.01  # of an instruction: the files hold two decimals


def fail(message, status=2):
    print(f"hit_path: {message}", file=sys.stderr)
    sys.exit(status)


def marked_lines():
    """The source line of each call, in the order of the source."""
    lines = {}
    for number, text in enumerate(SOURCE.read_text().splitlines(), 1):
        found = re.search(r"// counted as (\w+)$", text)
        if found:
            lines[found.group(1)] = number
    if not {"malloc", "free", "calloc", CLEARING} <= set(lines):
        fail(f"{SOURCE.name} does not mark malloc, free, calloc and {CLEARING}")
    return lines


def read_profile(path):
    """From callgrind's file: the inclusive cost by source line of the loops' calls."""
    names, by_line = {}, {}
    in_loop, after_calls = False, False
    for line in path.read_text().splitlines():
        named = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
        if named:
            if named.group(2):
                names[named.group(1)] = named.group(2)
            if line.startswith("fn="):
                in_loop = names[named.group(1)].split("'")[0] in LOOPS
        elif line.startswith("calls="):
            after_calls = True
            continue
        elif re.match(r"\d+ \d+$", line) and after_calls and in_loop:
            number, cost = map(int, line.split())
            by_line[number] = by_line.get(number, 0) + cost
        after_calls = False
    return by_line


def profile(program, library, size, count):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-pos=no",
                   "--dump-line=yes", "--dump-instr=no", "-q", program, str(size), str(count)]
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        if library:
            environment["LD_PRELOAD"] = library
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        except FileNotFoundError:
            fail("valgrind is not installed (Debian: apt-get install valgrind)")
        if "cannot be preloaded" in done.stderr:
            fail(f"the loader does not take {library}")
        if done.returncode != 0 or not out.is_file():
            fail(f"the program ended with {done.returncode} under callgrind:\n{done.stderr.strip()}")
        return read_profile(out)


def count(program, library, sizes, iterations):
    """{size: {function: instructions per call}}."""
    result = {}
    for size in sizes:
        once = profile(program, library, size, iterations)
        twice = profile(program, library, size, 2 * iterations)
        counts = {}
        for function, number in marked_lines().items():
            if number not in twice:
                fail(f"callgrind shows no call of {function} from the loops; build hit_path with -g")
            counts[function] = (twice[number] - once.get(number, 0)) / iterations
        clearing = counts.pop(CLEARING)
        if size > CLEARING_COUNTED_MAX:
            counts["calloc"] -= clearing
        result[size] = counts
    return result


def parse_table(text):
    """{size: {function: count}} of a table whose head begins with 'call'; what precedes the head is skipped."""
    sizes, table = [], {}
    for line in text.splitlines():
        words = line.lstrip("# ").split()
        if words[:1] == ["call"] and all(map(str.isdigit, words[1:])):
            sizes = [int(word) for word in words[1:]]
            table = {size: {} for size in sizes}
        elif sizes and re.fullmatch(r"\w+(\s+[\d.]+)+", line) and len(words) == len(sizes) + 1:
            for size, count in zip(sizes, words[1:]):
                table[size][words[0]] = float(count)
        elif sizes and line.strip():
            raise ValueError(f"wants a name and {len(sizes)} numbers, not '{line}'")
    return table


def read_golden(path):
    try:
        golden = parse_table(path.read_text())
    except ValueError as problem:
        fail(f"{path.name}: {problem}")
    if not golden or not all(golden.values()):
        fail(f"{path.name} holds no counts, so the check would prove nothing")
    return golden


def number_text(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def table_text(counts, separator):
    rows = [["call", *map(str, counts)]]
    for function in next(iter(counts.values())):
        rows.append([function, *(number_text(of_size[function]) for of_size in counts.values())])
    return [separator.join(row) for row in rows]


def write_golden(path, counts):
    head, *rows = table_text(counts, " ")
    lines = ["# Instructions of one hit of each function, counted by bench/hit_path.py (Release build).",
             "# A change that adds to them fails the golden test; one that is worth its price updates this file:",
             "#   cmake --build --preset release --target update_hit_path_golden",
             f"# {head}", *rows]
    path.write_text("\n".join(lines) + "\n")


def compare(path, counts):
    golden, worse, better = read_golden(path), [], []
    for size, expected in golden.items():
        for function, limit in expected.items():
            now = counts[size][function]
            text = f"{function}({size}): {number_text(now)} instructions, golden {number_text(limit)} " \
                   f"({now - limit:+.2f})"
            if now > limit + TOLERANCE:
                worse.append(text)
            elif now < limit - TOLERANCE:
                better.append(text)
    update = "cmake --build --preset release --target update_hit_path_golden"
    if worse:
        print("The hit path became longer:\n  " + "\n  ".join(worse))
        print(f"If the price is meant, say so in the commit and update {path.name}:\n  {update}")
        return 1
    if better:
        print("The hit path became shorter (passes; keep the gain):\n  " + "\n  ".join(better) + f"\n  {update}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, metavar="FILE", help="the built hit_path")
    parser.add_argument("--lib", metavar="FILE", default="", help="the library to preload; none: the C library")
    parser.add_argument("--sizes", metavar="LIST", help=f"comma-separated; {','.join(map(str, SIZES))} when absent")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, metavar="N", help=f"{ITERATIONS} when absent")
    parser.add_argument("--golden", type=Path, metavar="FILE", help="compare with these counts")
    parser.add_argument("--update", action="store_true", help="write the counts to the golden file instead")
    options = parser.parse_args()
    if options.update and not options.golden:
        parser.error("--update wants --golden FILE")
    if options.sizes and options.golden:
        parser.error("--golden holds its own sizes; leave --sizes out")
    if not os.access(options.program, os.X_OK):
        fail(f"no program {options.program}")
    checking = options.golden and not options.update
    if checking and not options.golden.is_file():
        fail(f"no golden file {options.golden.name}; write it with --update")
    sizes = SIZES
    if checking:
        sizes = tuple(read_golden(options.golden))
    elif options.sizes:
        sizes = tuple(int(s) for s in options.sizes.split(","))

    counts = count(os.path.abspath(options.program), options.lib, sizes, options.iterations)
    print("instructions per call:")
    print("\n".join(table_text(counts, "\t")))
    if options.update:
        write_golden(options.golden, counts)
        print(f"{options.golden.name} written")
        return 0
    return compare(options.golden, counts) if checking else 0


if __name__ == "__main__":
    sys.exit(main())
