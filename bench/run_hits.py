#!/usr/bin/env python3
"""The table of `make bench-hits`: what a hit takes in time, beside the other allocators, in about two minutes.

In each round every library runs all rows of bench/hits.cpp once, by turns, each in a process of its own: alone,
beside a second thread that has used the heap, and with two threads that work at once. A cell is the least of its
rounds. What else the machine does can only add to that. `medians` is the ratio of the medians: where it is far from
the ratio, the machine was not quiet.
"""
import argparse
import collections
import datetime
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ashlar_bench import allocators, cli
from ashlar_bench.allocators import BASE, OURS, ROOT, UserError

MODES = {"alone": "one thread", "beside": "beside a second thread that has used the heap",
         "both": "two threads that work at once"}
LIMIT = 1.05  # of the best peer's time; what is above is marked


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=str(ROOT / "build/release/bench/hits"), help="the program")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each library and mode (default 5)")
    parser.add_argument("--allocators", default="", metavar="LIST", help="comma-separated names; all when absent")
    parser.add_argument("--modes", default=",".join(MODES), metavar="LIST", help="of these alone (default %(default)s)")
    parser.add_argument("--lib", action="append", default=[], metavar="NAME=PATH",
                        help="a library to preload under that name, as a build before a change; may be repeated")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there, too")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    options.modes = options.modes.split(",")
    if unknown := set(options.modes) - set(MODES):
        parser.error(f"--modes: no {', '.join(sorted(unknown))}; there are {', '.join(MODES)}")
    if not os.access(options.bench, os.X_OK):
        parser.error(f"no program at '{options.bench}': build it with 'make bench-hits' or give --bench")
    return options


def run(bench, mode, allocator):
    """{row: nanoseconds} of one process."""
    done = subprocess.run([bench, mode], env=allocators.environment_for(allocator), capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise UserError(f"{allocator.name}, {mode}: ended with {done.returncode}: {done.stderr.strip()}")
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def measure(options, found):
    """mode -> row -> allocator's name -> the values of the rounds."""
    cells = {mode: collections.defaultdict(lambda: collections.defaultdict(list)) for mode in options.modes}
    started = time.monotonic()
    for number in range(options.rounds):
        turn = number % len(found)
        for allocator in found[turn:] + found[:turn]:
            for mode, rows in cells.items():
                for row, value in run(options.bench, mode, allocator).items():
                    rows[row][allocator.name].append(value)
        print(f"\rbench-hits: round {number + 1}/{options.rounds}, {time.monotonic() - started:.0f} s", end="",
              file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return cells


def table(rows, names, given):
    """The lines of a mode's table. Libraries that were given are no peers."""
    peers = [name for name in names if name != OURS and name not in given]
    yield "| row | " + " | ".join(names) + " | best peer | ratio | medians |"
    yield "|---|" + "---:|" * len(names) + "---|---:|---:|"
    for row, values in rows.items():
        ends = ["", "", ""]
        if peers and OURS in values:
            best = min(peers, key=lambda name: min(values[name]))
            ratio = min(values[OURS]) / min(values[best])
            medians = statistics.median(values[OURS]) / min(statistics.median(values[name]) for name in peers)
            ends = [best, f"**{ratio:.2f}**" if ratio > LIMIT else f"{ratio:.2f}", f"{medians:.2f}"]
        yield f"| {row} | " + " | ".join([f"{min(values[name]):.1f}" for name in names] + ends) + " |"


def text(options, found, cells, given):
    versions = ", ".join(f"{each.name} ({each.version})" for each in found if each.version)
    lines = [f"`make bench-hits`, {datetime.date.today()}, {cli.cpu_model()}, {os.cpu_count()} processors. {versions}.",
             f"Nanoseconds of an allocation and its free, the least of {options.rounds} rounds by turns."]
    for mode, rows in cells.items():
        lines += ["", f"{MODES[mode].capitalize()}:", "", *table(rows, [each.name for each in found], given)]
    return "\n".join(lines) + "\n"


def main():
    options = parse_arguments()
    given = allocators.parse_given(options.lib)
    # The slow peers of the other tables are left out, so that a minute is enough; --allocators has them all.
    wanted = [name for name in options.allocators.split(",") if name] or [
        BASE, "jemalloc", "tcmalloc", "mimalloc2", "mimalloc3", "snmalloc", "rpmalloc", OURS, *given]
    known = [peer for peer in allocators.read_peers() if peer["name"] in wanted]
    found = allocators.find(allocators.ours_beside(options.bench), [], given, known, lambda message: print(f"bench-hits: {message}"))
    found = [each for each in found if each.name in wanted]
    result = text(options, found, measure(options, found), given)
    print(result, end="")
    if options.markdown:
        options.markdown.write_text(result, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except UserError as problem:
        sys.exit(f"bench-hits: {problem}")
    except KeyboardInterrupt:
        sys.exit("\nbench-hits: interrupted")
