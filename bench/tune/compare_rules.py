#!/usr/bin/env python3
"""Bytes of pools for recorded traces, by the rule that chose them, as a table in Markdown.

Each trace is tuned to its knee; the other rules have as many classes (powers of two: as many as it takes).
Run: compare_rules.py [--ashlar COMMAND] [--largest BYTES] TRACE...   after, for each program,
     ashlar record -o NAME.atrace -- PROGRAM ...
Ends with 1 where a rule took fewer bytes than the tuner with as many classes, which cannot be.
"""
import argparse
import pathlib
import re
import subprocess
import sys

RULES = ("tune", "greedy", "summed peaks", "powers of two")
ROW = re.compile(r"^  (" + "|".join(RULES) + r") +([\d,]+) +([\d,]+) +[\d.]+$", re.MULTILINE)


def tuned(ashlar: str, trace: pathlib.Path, largest: str | None) -> dict[str, tuple[int, int]]:
    """Classes and bytes of each rule for a trace."""
    command = [ashlar, "tune", "--rules", *(["--largest", largest] if largest else []), str(trace)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"compare_rules: {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    rows = {rule: (int(classes.replace(",", "")), int(size.replace(",", "")))
            for rule, classes, size in ROW.findall(done.stdout)}
    if set(rows) != set(RULES):
        raise SystemExit(f"compare_rules: {' '.join(command)} printed other rules than {', '.join(RULES)}")
    return rows


def line(trace: pathlib.Path, rows: dict[str, tuple[int, int]]) -> str:
    least = rows["tune"][1]
    cells = [f"{size:,} ({size / least:.2f})" for _, size in (rows[rule] for rule in RULES[1:])]
    return f"| {trace.stem} | {rows['tune'][0]} | {least:,} | {' | '.join(cells)} | {rows['powers of two'][0]} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ashlar", default="build/release/bin/ashlar", help="the command (default: of this checkout)")
    parser.add_argument("--largest", help="leave larger requests out")
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    print("| trace | classes | tune, bytes | greedy | summed peaks | powers of two | their classes |")
    print("|---|---|---|---|---|---|---|")
    worse = []
    for trace in options.traces:
        rows = tuned(options.ashlar, trace, options.largest)
        print(line(trace, rows), flush=True)
        worse += [f"{trace}: {rule}" for rule, (classes, size) in rows.items()
                  if size < rows["tune"][1] and classes <= rows["tune"][0]]
    if worse:
        print(f"compare_rules: fewer bytes than the tuner: {', '.join(worse)}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
