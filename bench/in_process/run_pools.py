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


def best(row, wanted):
    return min((value for name, value in row.items() if group(name) == wanted), default=None)


def ratios(cells, patterns, wanted):
    """Returns: for each pattern the best of ashlar over the best of the wanted group, as texts."""
    texts = []
    for pattern in patterns:
        ours, theirs = best(cells[pattern], "ashlar"), best(cells[pattern], wanted)
        texts.append(f"{ours / theirs:.2f}" if ours and theirs else "-")
    return texts


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
    microbench.write("Nanoseconds a pair", *table(microbench.measure(options)), options)


if __name__ == "__main__":
    microbench.run(main)
