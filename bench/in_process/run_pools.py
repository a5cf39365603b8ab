#!/usr/bin/env python3
"""Blocks of 64 bytes inside one program: ashlar's faces, other pools, and limits that nobody can beat.

A cell is the median time of a pair of allocate and free, in nanoseconds; bench/in_process/patterns.hpp tells the
patterns. Allocators marked (reset) take blocks back only all at once: they are shown, but no ratio counts them.
"""
import microbench

ONLY_AT_ONCE = "(reset)"


def group(name):
    if name.endswith(ONLY_AT_ONCE):
        return "reset"
    return next((each for each in ("ashlar", "limit") if name.startswith(each)), "peer")


def ratios(cells, patterns, wanted):
    """Returns: for each pattern the best of ashlar over the best of the wanted group, as texts."""
    ours = [microbench.best(cells[pattern], lambda name: group(name) == "ashlar") for pattern in patterns]
    theirs = [microbench.best(cells[pattern], lambda name: group(name) == wanted) for pattern in patterns]
    return [microbench.ratio(a, b) for a, b in zip(ours, theirs)]


def table(cells):
    """Returns: the header and the rows, an allocator each."""
    patterns = list(cells)
    names = list(dict.fromkeys(name for row in cells.values() for name in row))
    rows = [[name] + [microbench.show(cells[p][name]) if name in cells[p] else "-" for p in patterns] for name in names]
    rows.append(["*best of ashlar / best peer*"] + ratios(cells, patterns, "peer"))
    rows.append(["*best of ashlar / best limit*"] + ratios(cells, patterns, "limit"))
    return ["allocator", *patterns], rows


def main():
    options = microbench.parse_arguments(__doc__, "pools_bench", "churn_.*/ashlar")
    cells = microbench.measure(options)
    microbench.write("Nanoseconds a pair", *table(cells), cells, options)


if __name__ == "__main__":
    microbench.run(main)
