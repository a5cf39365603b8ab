"""What the tables of the in-process benchmarks share: running a Google Benchmark program, and writing a table.

Each benchmark is called "ROW/COLUMN" and reports items a second. A round is one process, in which the program
shuffles its benchmarks; a cell has the nanoseconds an item of each round and shows their median.
"""
import argparse
import collections
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOISY = 0.2  # a cell whose rounds differ by more than this share of the median is marked
NOTE = f"`~`: the rounds differ by more than {NOISY:.0%} of the median; believe no small difference there."


def parse_arguments(description, program, example):
    """Returns: the options, after the program was found to be there."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=str(ROOT / "build/release/bench" / program), help="the benchmark program")
    parser.add_argument("--repetitions", type=int, default=9, help="of each cell, a process each (default 9)")
    parser.add_argument("--only", default=".", help=f"a regular expression of cells, such as '{example}'")
    parser.add_argument("--csv", help="write every round's figures there")
    parser.add_argument("--markdown", help="write the table there as Markdown")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    if not os.access(options.bench, os.X_OK):
        parser.error(f"no program at '{options.bench}': build it with 'make bench' or give --bench")
    return options


def lines_of(command):
    """Yields the lines that a command prints, as they come; ends the command when it is itself ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield from process.stdout
        except BaseException:
            process.kill()
            process.wait()
            raise
        errors = process.stderr.read()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=errors)


def measure(options):
    """Returns: row -> column -> the nanoseconds an item of each round; rows and columns in the program's order."""
    program = Path(options.bench).name
    names = subprocess.run([options.bench, "--benchmark_list_tests", f"--benchmark_filter={options.only}"],
                           check=True, capture_output=True, text=True).stdout.split("\n")
    names = [name for name in names if "/" in name]
    if not names:
        sys.exit(f"--only '{options.only}' matches no cell; '{options.bench} --benchmark_list_tests' shows them")
    rounds, started = collections.defaultdict(list), time.monotonic()
    for number in range(1, options.repetitions + 1):
        command = [options.bench, "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05",
                   "--benchmark_format=json", f"--benchmark_filter={options.only}"]
        output, done = [], 0
        for line in lines_of(command):
            output.append(line)
            if '"run_name"' in line:
                done += 1
                print(f"\r{program}: round {number}/{options.repetitions}, {done}/{len(names)} cells, "
                      f"{time.monotonic() - started:.0f} s", end="", file=sys.stderr, flush=True)
        for entry in json.loads("".join(output))["benchmarks"]:
            rounds[entry["run_name"]].append(1e9 / entry["items_per_second"])
    print(file=sys.stderr)
    cells = collections.defaultdict(dict)
    for name in names:
        row, column = name.split("/", 1)
        cells[row][column] = rounds[name]
    return cells


def show(values):
    """Returns: the text of a cell."""
    median = statistics.median(values)
    noisy = max(values) - min(values) > NOISY * median
    return (f"{median:.2f}" if median < 100 else f"{median:.0f}") + ("~" if noisy else "")


def best(row, wanted):
    """Returns: the least median of those columns whose name is wanted; None when there is none."""
    return min((statistics.median(values) for name, values in row.items() if wanted(name)), default=None)


def ratio(a, b):
    return f"{a / b:.2f}" if a and b else "-"


def write(title, header, rows, cells, options):
    """Prints the table, a list of lists of texts, and writes the files that were asked for."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    text = "\n".join(lines) + "\n"
    print(f"{title}, medians of {options.repetitions}. {NOTE}\n\n{text}", end="")
    if options.markdown:
        Path(options.markdown).write_text(text, encoding="utf-8")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["row", "column", "round", "ns"])
            writer.writerows([row, column, number, f"{value:.4f}"] for row, columns in cells.items()
                             for column, values in columns.items() for number, value in enumerate(values, 1))


def run(main):
    """Calls main; an interruption or a failing program ends in one line."""
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing was written")
    except subprocess.CalledProcessError as error:
        sys.exit(f"\n{' '.join(error.cmd)} failed with {error.returncode}\n{error.stderr or ''}".rstrip())
