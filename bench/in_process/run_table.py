#!/usr/bin/env python3
"""The table of containers_bench.

Each benchmark is called "CONTAINER/ALLOCATOR" and reports items a second. Google Benchmark repeats all of them, interleaved
at random. A cell is the median of its repetitions: nanoseconds an element of inserting 10,000 and clearing. The last line
is the best of ashlar's over the best of the peers.
"""
import argparse
import collections
import csv
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOISY = 0.2  # a cell whose repetitions differ by more than this share of the median is marked
NOTE = f"`~`: the repetitions differ by more than {NOISY:.0%} of the median; believe no small difference there."


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=str(ROOT / "build/release/bench/containers_bench"),
                        help="the program's file (default: that of the release build)")
    parser.add_argument("--repetitions", type=int, default=9, help="of each cell (default 9)")
    parser.add_argument("--only", default=".", help="a regular expression of cells, such as 'map/.*'")
    parser.add_argument("--csv", help="write every repetition's figures there")
    parser.add_argument("--markdown", type=Path, help="write the table there as Markdown")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    if not os.access(options.bench, os.X_OK):
        parser.error(f"no program at '{options.bench}': build it with 'make bench' or give --bench")
    return options


def measure(options):
    """Returns: pattern -> allocator -> the nanoseconds an item of each repetition, in the program's order."""
    command = [options.bench, f"--benchmark_filter={options.only}", "--benchmark_format=json", "--benchmark_min_time=0.05",
               f"--benchmark_repetitions={options.repetitions}", "--benchmark_enable_random_interleaving=true"]
    print(f"{Path(options.bench).name}: every cell {options.repetitions} times; some minutes", file=sys.stderr)
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if not output:
        sys.exit(f"--only '{options.only}' matches no cell; '{options.bench} --benchmark_list_tests' shows them")
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for entry in sorted(json.loads(output)["benchmarks"], key=lambda each: each["family_index"]):
        if entry["run_type"] == "iteration":
            pattern, allocator = entry["run_name"].split("/", 1)
            cells[pattern][allocator].append(1e9 / entry["items_per_second"])
    return cells


def show(values):
    median = statistics.median(values)
    noisy = max(values) - min(values) > NOISY * median
    return (f"{median:.2f}" if median < 100 else f"{median:.0f}") + ("~" if noisy else "")


def best(row, ours):
    """Returns: the least median of ashlar's allocators, or of the others; None when there is none."""
    return min((statistics.median(values) for name, values in row.items() if name.startswith("ashlar") == ours), default=None)


def table(cells):
    """Returns: the lines of the table, an allocator each."""
    names = list(dict.fromkeys(name for row in cells.values() for name in row))
    rows = [["allocator", *cells], ["---", *("---:" for _ in cells)]]
    rows += [[name, *(show(row[name]) if name in row else "-" for row in cells.values())] for name in names]
    pairs = [(best(row, True), best(row, False)) for row in cells.values()]
    rows.append(["*best of ashlar / best peer*",
                 *(f"{ours / theirs:.2f}" if ours and theirs else "-" for ours, theirs in pairs)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main():
    options = parse_arguments()
    cells = measure(options)
    text = table(cells)
    print(f"Nanoseconds an item, medians of {options.repetitions}. {NOTE}\n\n{text}", end="")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["row", "column", "round", "ns"])
            writer.writerows([pattern, name, number, f"{value:.4f}"] for pattern, row in cells.items()
                             for name, values in row.items() for number, value in enumerate(values, 1))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing was written")
    except subprocess.CalledProcessError as error:
        sys.exit(f"\n{' '.join(error.cmd)} failed with {error.returncode}\n{error.stderr or ''}".rstrip())
