#!/usr/bin/env python3
"""Standard containers on each allocator, in one process, repetitions interleaved at random.

A cell is the median time an element of inserting 10,000 elements and clearing. The last column is the best
of ashlar's faces over the best of the others.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "in_process"))
import microbench  # noqa: E402


def table(cells):
    """Returns: the header and the rows of the table, as lists of texts."""
    allocators = list(dict.fromkeys(a for row in cells.values() for a in row))
    header = ["container", *allocators, "best of ashlar / best peer"]
    rows = []
    for container, row in cells.items():
        ours = microbench.best(row, lambda name: name.startswith("ashlar"))
        peer = microbench.best(row, lambda name: not name.startswith("ashlar"))
        rows.append([container, *(microbench.show(row[a]) if a in row else "-" for a in allocators),
                     microbench.ratio(ours, peer)])
    return header, rows


def main():
    options = microbench.parse_arguments(__doc__, "containers_bench", "list/.*")
    cells = microbench.measure(options)
    microbench.write("Nanoseconds an element", *table(cells), cells, options)


if __name__ == "__main__":
    microbench.run(main)
