#!/usr/bin/env python3
"""Standard containers on each allocator, in one process, repetitions interleaved at random.

A cell is the median time an element of inserting 10,000 elements and clearing. The last column is the best
of ashlar's faces over the best of the others.
"""
import argparse
import collections
import csv
import json
import os
import statistics
import subprocess
import sys


def measure(bench, repetitions, only):
    """Returns: container -> allocator -> nanoseconds an element of each repetition."""
    command = [bench, f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true",
               "--benchmark_min_time=0.05", "--benchmark_format=json", f"--benchmark_filter={only or '.'}"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for entry in json.loads(out)["benchmarks"]:
        if entry.get("run_type") == "iteration":
            container, allocator = entry["run_name"].split("/", 1)
            cells[container][allocator].append(1e9 / entry["items_per_second"])
    return cells


def table(cells):
    """Returns: the header and the rows of the table, as lists of texts."""
    allocators = list(dict.fromkeys(a for row in cells.values() for a in row))
    header = ["container", *allocators, "best of ashlar / best peer"]
    rows = []
    for container, row in cells.items():
        medians = {a: statistics.median(row[a]) for a in row}
        ours = min(v for a, v in medians.items() if a.startswith("ashlar"))
        peer = min(v for a, v in medians.items() if not a.startswith("ashlar"))
        rows.append([container, *(f"{medians[a]:.2f}" if a in medians else "-" for a in allocators),
                     f"{ours / peer:.2f}"])
    return header, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/containers_bench", help="the benchmark program")
    parser.add_argument("--repetitions", type=int, default=9, help="of each cell (default 9)")
    parser.add_argument("--only", help="a regular expression of cells, such as 'list/.*'")
    parser.add_argument("--csv", help="write the table there")
    parser.add_argument("--markdown", help="write the table there as Markdown")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    if not os.access(options.bench, os.X_OK):
        parser.error(f"no program at '{options.bench}': build it with 'make bench' or give --bench")
    header, rows = table(measure(options.bench, options.repetitions, options.only))
    if not rows:
        parser.error(f"--only '{options.only}' matches no cell")
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    text = "\n".join(lines) + "\n"
    print("Nanoseconds an element\n\n" + text)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(text)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing was written")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} failed with {error.returncode}")
