#!/usr/bin/env python3
"""Runs the soak (soak.cpp) on ashlar and beside it on the system's allocator; judges whether ashlar's memory is flat.

usage: soak.py BUILD [--seconds S] [--threads N] [--seed N] [--leak BYTES_PER_SECOND] [--pin EVERY_NTH] [--no-control]
               [--document FILE]

A cycle goes through all phases. The first third of the cycles (at least two) is warm-up. Of the others, over T minutes:

    leak    upper95(slope(in_use - live)) <= LEAK      bytes that the heap has and nobody else, in KiB a minute
    floor   upper95(slope(floor)) * T <= FLOOR * median(floor)   resident at the end of the quiet phase
    peak    max(peaks of the second half) <= PEAK * max(peaks of the first half)

slope is the median of the slopes between all pairs of cycles (Theil, Sen), and upper95 the upper end of its 95 %
confidence interval by Kendall's statistic: growth has to be excluded, not only unproven. Of peaks it is the greatest
that counts: on a busy machine a cycle takes longer, more pages have the time to go back in it, and its peak is lower
by up to a quarter. Floors scatter by some MiB, as free pages wait for their delay, while a byte in use is a byte:
small leaks are found by the first equation, fragmentation by the others. The system's allocator is there to compare
with, not judged.
"""
import argparse
import csv
import math
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import page_part  # noqa: E402

LEAK = 10.0  # KiB a minute: a sixth of what a leak of 1 KiB a second is
FLOOR = 0.1
PEAK = 1.02
WARM_UP = 1 / 3
LEAST_CYCLES = 4  # after the warm-up


def slope(times, values):
    """The median slope of all pairs, and its 95 % confidence interval."""
    pairs = sorted((values[j] - values[i]) / (times[j] - times[i])
                   for i in range(len(times)) for j in range(i + 1, len(times)))
    n = len(times)
    half = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, math.floor((len(pairs) - half) / 2))
    high = min(len(pairs) - 1, math.ceil((len(pairs) + half) / 2))
    return statistics.median(pairs), pairs[low], pairs[high]


class Column:
    """What one allocator did, from the soak's CSV."""

    def __init__(self, rows):
        warm = max(2, math.ceil(len(rows) * WARM_UP))
        if len(rows) < warm + LEAST_CYCLES:
            raise ValueError(f"{len(rows)} cycles are too few to judge ({LEAST_CYCLES} after {warm} of warm-up);"
                             " give it more seconds or fewer operations")
        self.cycles, self.sessions = len(rows), int(rows[-1]["sessions"])
        rows = rows[warm:]
        self.judged = len(rows)
        times = [float(row["seconds"]) / 60 for row in rows]
        self.minutes = times[-1] - times[0]
        floors, peaks = ([int(row[name]) for row in rows] for name in ("floor_kib", "peak_kib"))
        self.floor = statistics.median(floors)
        self.floor_slope = slope(times, floors)
        self.unowned_slope = slope(times, [int(row["in_use_kib"]) - int(row["live_kib"]) for row in rows])
        half = len(rows) // 2
        self.first_peak, self.last_peak = max(peaks[:half]), max(peaks[half:])
        self.peak_slope = slope(times, peaks)

    def faults(self):
        found = []
        if self.unowned_slope[2] > LEAK:
            found.append(f"leak: what is in use and nobody has grows by {self.unowned_slope[0]:.1f} KiB a minute"
                         f" (up to {self.unowned_slope[2]:.1f}; at most {LEAK:.0f} is allowed)")
        rise = self.floor_slope[2] * self.minutes / self.floor
        if rise > FLOOR:
            found.append(f"floor: it may have risen by {rise:.1%} of {self.floor:.0f} KiB in {self.minutes:.1f} minutes"
                         f" (at most {FLOOR:.0%} is allowed; more cycles would tell more exactly)")
        if self.last_peak > PEAK * self.first_peak:
            found.append(f"peak: {self.last_peak} KiB in the second half is {self.last_peak / self.first_peak:.3f} of"
                         f" {self.first_peak} KiB in the first (at most {PEAK} is allowed)")
        return found


def table(columns):
    def interval(low_mid_high):
        return "{:+.1f} ({:+.1f} to {:+.1f})".format(*low_mid_high)
    rows = [("cycles, judged of all", lambda c: f"{c.judged} of {c.cycles}"),
            ("threads served", lambda c: f"{c.sessions:,}"),
            ("minutes judged", lambda c: f"{c.minutes:.1f}"),
            ("greatest peak of the first half, MiB", lambda c: f"{c.first_peak / 1024:.1f}"),
            ("of the second half, MiB", lambda c: f"{c.last_peak / 1024:.1f}"),
            ("second over first", lambda c: f"{c.last_peak / c.first_peak:.3f}"),
            ("floor, MiB", lambda c: f"{c.floor / 1024:.1f}"),
            ("floor's slope, KiB a minute", lambda c: interval(c.floor_slope)),
            ("peak's slope, KiB a minute", lambda c: interval(c.peak_slope)),
            ("in use and nobody's, its slope, KiB a minute", lambda c: interval(c.unowned_slope))]
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    return "\n".join(lines + [f"| {name} | " + " | ".join(tell(c) for c in columns.values()) + " |"
                              for name, tell in rows])


def parse_arguments():
    parser = argparse.ArgumentParser(description="a server's life for some minutes: is its memory flat?")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=600)
    for name in ("threads", "seed", "operations", "quiet-seconds"):
        parser.add_argument(f"--{name}", help="as soak's")
    parser.add_argument("--leak", help="plant: bytes a second that nobody frees")
    parser.add_argument("--pin", help="plant: every n-th small block is never freed")
    parser.add_argument("--no-control", action="store_true", help="not on the system's allocator too")
    parser.add_argument("--csv", type=pathlib.Path, help="folder for the cycles' figures (default BUILD/torture)")
    parser.add_argument("--document", type=pathlib.Path, help="the file whose table is renewed")
    return parser.parse_args()


def main():
    options = parse_arguments()
    folder = options.csv or options.build / "torture"
    folder.mkdir(parents=True, exist_ok=True)
    programs = {"ashlar": "soak"} | ({} if options.no_control else {"system": "soak_drop_in"})
    passed_on = []
    for name in ("seconds", "threads", "seed", "operations", "quiet_seconds", "leak", "pin"):
        if getattr(options, name) is not None:
            passed_on += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    running = {}
    try:
        for column, program in programs.items():  # at the same time: it is memory that counts
            with open(folder / f"soak_{column}.csv", "w", encoding="utf-8") as file:
                running[column] = subprocess.Popen([options.build / "tests/torture" / program, *passed_on], stdout=file)
        failed = [column for column, process in running.items() if process.wait() != 0]
    finally:
        for process in running.values():
            if process.poll() is None:
                process.kill()
                process.wait()
    if failed:
        sys.exit(f"soak: it ended with status {running[failed[0]].returncode} on {failed[0]}")
    columns = {}
    for column in programs:
        with open(folder / f"soak_{column}.csv", encoding="utf-8") as file:
            try:
                columns[column] = Column(list(csv.DictReader(file)))
            except ValueError as problem:
                sys.exit(f"soak: {column}: {problem}")
    print(table(columns))
    if options.document:
        options.document.write_text(page_part.replaced(options.document.read_text(), "soak", table(columns)))
    faults = columns["ashlar"].faults()
    for fault in faults:
        print(f"NOT FLAT, {fault}")
    ashlar = columns["ashlar"]
    print(f"soak: {ashlar.cycles} cycles, {ashlar.sessions} threads, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
