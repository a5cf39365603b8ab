#!/usr/bin/env python3
"""Counts the instructions of one malloc hit and one free hit of a preloaded library, by callgrind.

hit_path.c runs N and 2N pairs; the difference over N is the cost of a pair in steady state. What
callgrind attributes to the two call sites of its loop is split into malloc and free (inclusive of
whatever they call). `pair` is the whole difference less that of the same loop without the calls: it
also holds the call instructions and jumps through the linkage tables.

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

SIZES = (16, 64, 1024, 8192)
ITERATIONS = 10_000
SOURCE = Path(__file__).resolve().parent / "hit_path.c"
TOLERANCE = 0.01  # of an instruction: the files hold two decimals


def fail(message, status=2):
    print(f"hit_path: {message}", file=sys.stderr)
    sys.exit(status)


def marked_lines():
    """The source lines of the two calls."""
    lines = {}
    for number, text in enumerate(SOURCE.read_text().splitlines(), 1):
        found = re.search(r"// counted as (\w+)$", text)
        if found:
            lines[found.group(1)] = number
    if set(lines) != {"malloc", "free"}:
        fail(f"{SOURCE.name} does not mark exactly one malloc and one free")
    return lines


def read_profile(path):
    """From callgrind's file: all instructions, and the inclusive cost by source line of hit_loop's calls."""
    names, by_line, total = {}, {}, None
    in_loop, after_calls = False, False
    for line in path.read_text().splitlines():
        named = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
        if named:
            if named.group(2):
                names[named.group(1)] = named.group(2)
            if line.startswith("fn="):
                in_loop = names[named.group(1)].split("'")[0] == "hit_loop"
        elif line.startswith("calls="):
            after_calls = True
            continue
        elif re.match(r"\d+ \d+$", line) and after_calls and in_loop:
            number, cost = map(int, line.split())
            by_line[number] = by_line.get(number, 0) + cost
        elif line.startswith(("summary:", "totals:")):
            total = int(line.split()[1])
        after_calls = False
    if total is None:
        fail("callgrind's file holds no total")
    return total, by_line


def profile(program, library, size, count, noop=False):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-pos=no",
                   "--dump-line=yes", "--dump-instr=no", "-q", program, str(size), str(count)]
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        if library:
            environment["LD_PRELOAD"] = library
        try:
            done = subprocess.run(command + (["noop"] if noop else []), env=environment,
                                  capture_output=True, text=True, timeout=300)
        except FileNotFoundError:
            fail("valgrind is not installed (Debian: apt-get install valgrind)")
        if "cannot be preloaded" in done.stderr:
            fail(f"the loader does not take {library}")
        if done.returncode != 0 or not out.is_file():
            fail(f"the program ended with {done.returncode} under callgrind:\n{done.stderr.strip()}")
        return read_profile(out)


def count(program, library, sizes):
    """{size: {"malloc": n, "free": n, "pair": n}}, instructions per call."""
    def difference(size, noop):
        once, once_lines = profile(program, library, size, ITERATIONS, noop)
        twice, twice_lines = profile(program, library, size, 2 * ITERATIONS, noop)
        lines = {n: (twice_lines[n] - once_lines.get(n, 0)) / ITERATIONS for n in twice_lines}
        return (twice - once) / ITERATIONS, lines

    empty, _ = difference(sizes[0], True)
    result = {}
    for size in sizes:
        whole, lines = difference(size, False)
        result[size] = {"pair": whole - empty}
        for function, number in marked_lines().items():
            if number not in lines:
                fail(f"callgrind shows no call of {function} from hit_loop; build hit_path with -g")
            result[size][function] = lines[number]
    return result


def read_golden(path):
    golden = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split()
        try:
            golden[int(fields[0])] = {"malloc": float(fields[1]), "free": float(fields[2])}
        except (ValueError, IndexError):
            fail(f"{path.name}:{number}: wants three numbers, SIZE MALLOC FREE, not '{line}'")
    if not golden:
        fail(f"{path.name} holds no counts, so the check would prove nothing")
    return golden


def number_text(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def write_golden(path, counts):
    lines = ["# Instructions of one malloc hit and one free hit, counted by bench/hit_path.py (Release build).",
             "# A change that adds to them fails the golden test; one that is worth its price updates this file:",
             "#   cmake --build --preset release --target update_hit_path_golden",
             "# size malloc free"]
    lines += [f"{size} {number_text(c['malloc'])} {number_text(c['free'])}" for size, c in counts.items()]
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

    counts = count(os.path.abspath(options.program), options.lib, sizes)
    print(f"{'size':>8} {'malloc':>8} {'free':>8} {'pair':>8}   instructions per call")
    for size, c in counts.items():
        print(f"{size:>8} {c['malloc']:>8.2f} {c['free']:>8.2f} {c['pair']:>8.2f}")
    if options.update:
        write_golden(options.golden, counts)
        print(f"{options.golden.name} written")
        return 0
    return compare(options.golden, counts) if checking else 0


if __name__ == "__main__":
    sys.exit(main())
