#!/usr/bin/env python3
"""Runs the documents' benchmarks on the documents' algorithms, on ashlar and on the system's allocator.

Each benchmark runs three times in one process, as in the documents (a benchmark whose pool never uses a
block again: in three processes). The sides' processes take turns; a figure is the median over the rounds.
"original" is the document's algorithm, written anew from its description (bench/classic/originals).
"bare" is ashlar with the original's promises only; it exists where ashlar's defaults promise more.
A ratio is ours over the faster of original and system, run by run. Times are processor time; those of two
threads are wall time.
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

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ashlar_bench import charts, cli  # noqa: E402

RUNS = 3
SIDES = {"original": "the document's algorithm", "ashlar": "ashlar", "bare": "ashlar, the original's promises",
         "system": "system"}
OTHERS = ("original", "system")
OURS = ("ashlar", "bare")
# A no-op's time is below the clock's step; and two medians that differ by less than this are level.
LEVEL = 1.02


def listed(bench):
    """Returns: name -> sides."""
    out = subprocess.run([bench, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout
    names = {}
    for line in out.splitlines():
        document, name, side, *_ = line.split("/")
        names.setdefault(f"{document}/{name}", []).append(side)
    return names


def once(bench, name, side):
    """Returns: RUNS runs; each has the microseconds of its parts by name."""
    runs = []
    while len(runs) < RUNS:  # a benchmark whose pool never uses a block again does one in a process
        out = subprocess.run([bench, f"--benchmark_filter=^{name}/{side}/", "--benchmark_format=json"], check=True,
                             capture_output=True, text=True).stdout
        runs += [entry for entry in json.loads(out)["benchmarks"] if entry["run_type"] == "iteration"]
    return runs


def measure(bench, documents, names, rounds):
    """Returns: (benchmark, part) -> side -> median microseconds of each run."""
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for number in range(rounds):
        for name, sides in names.items():
            turn = number % len(sides)
            for side in sides[turn:] + sides[:turn]:
                runs = once(bench, name, side)
                for part in (entry["part"] for entry in documents if entry["benchmark"] == name):
                    samples[name, part][side].append([run[part] for run in runs])
            if sys.stderr.isatty():
                print(f"\rround {number + 1} of {rounds}: {name:45}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r" + " " * 75 + "\r", end="", file=sys.stderr)
    return {key: {side: [statistics.median(run) for run in zip(*each)] for side, each in sides.items()}
            for key, sides in samples.items()}


def rows(documents, measured):
    """Returns: one dict a row: the figures of each side and run, and what they come to."""
    for entry in documents:
        figures = measured.get((entry["benchmark"], entry["part"]))
        if figures is None:
            continue
        operations = entry.get("operations")
        row = {"row": entry["title"], "unit": "ns" if operations else "us"}
        scale = 1000 / operations if operations else 1
        for side in SIDES:
            for run in range(RUNS):
                row[f"{side}_{run + 1}"] = round(figures[side][run] * scale, 3) if side in figures else ""
        for side in OURS:
            for run in range(RUNS):
                best = min(figures[other][run] for other in OTHERS)
                row[f"{side}_ratio_{run + 1}"] = \
                    round(figures[side][run] / max(best, 0.5), 3) if side in figures else ""
        row["original_over_system"] = round(sum(figures["original"]) / max(sum(figures["system"]), 0.5), 3)
        row["published"] = round(sum(entry["theirs"]) / sum(entry["system"]), 3) if "theirs" in entry else ""
        yield row


def cell(row, prefix, one):
    values = [row[f"{prefix}_{run + 1}"] for run in range(RUNS)]
    return "-" if "" in values else " / ".join(one(v) for v in values)


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(value):
    text = f"{value:.2f}"
    return f"**{text}**" if value > LEVEL else text


def markdown(table, title):
    heads = [f"{text}" for text in SIDES.values()]
    lines = [f"{title}", "",
             "Processor time of three runs of one process (two threads: wall time); less is better. A ratio is ours over the faster of document and system; "
             "those above 1.02 are bold.", "",
             "| benchmark | " + " | ".join(heads) + " | ashlar, ratio | with the original's promises, ratio "
             "| original / system (as published) |",
             "|---|" + "---:|" * (len(heads) + 3)]
    for row in table:
        cells = [cell(row, side, figure) for side in SIDES]
        published = f" ({row['published']:.2f})" if row["published"] != "" else ""
        lines.append(f"| {row['row']}, {row['unit']} | " + " | ".join(cells) +
                     f" | {cell(row, 'ashlar_ratio', ratio)} | {cell(row, 'bare_ratio', ratio)} "
                     f"| {row['original_over_system']:.2f}{published} |")
    return "\n".join(lines) + "\n"


def chart(table, title, path):
    plot, places = charts.pyplot(), range(len(table))
    figure_, axes = plot.subplots(figsize=(10, 0.55 * len(table) + 1.2))

    def total(row, side):
        values = [row[f"{side}_{run + 1}"] for run in range(RUNS)]
        return None if "" in values else sum(values) / max(sum(row[f"system_{r + 1}"] for r in range(RUNS)), 0.5)

    for side, offset, colour in (("original", -0.27, "#b8b8b8"), ("ashlar", 0, "#27618d"), ("bare", 0.27, "#7fb0d3")):
        lengths = [total(row, side) for row in table]
        bars = axes.barh([place + offset for place in places], [length or 0 for length in lengths], height=0.25, color=colour, label=SIDES[side])
        axes.bar_label(bars, ["" if length is None else f"{length:.2f}" for length in lengths], padding=2, fontsize=7)
    axes.axvline(1, color=charts.INK, linewidth=0.8, linestyle="--")
    axes.set_yticks(places, [row["row"] for row in table], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("time / the system allocator's time on the same machine (three runs together; less is better)")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8, loc="lower right")
    figure_.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/classic_bench", help="the benchmark program")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side (default 5)")
    parser.add_argument("--only", action="append", help="a benchmark's name, or its beginning (may be repeated)")
    parser.add_argument("--csv", help="write the table there")
    parser.add_argument("--svg", help="draw the ratios there (needs matplotlib)")
    parser.add_argument("--markdown", type=Path, help="write the table there as Markdown")
    options = parser.parse_args()
    if options.svg and not charts.available():  # before minutes of measuring, not after
        parser.error("--svg needs matplotlib (Debian: apt-get install python3-matplotlib)")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not os.access(options.bench, os.X_OK):
        parser.error(f"no program at '{options.bench}': build its target classic_bench, or give --bench")
    documents = json.loads((HERE / "documents.json").read_text(encoding="utf-8"))
    names = listed(options.bench)
    missing = {entry["benchmark"] for entry in documents} ^ set(names)
    if missing:
        sys.exit(f"documents.json and the program do not name the same benchmarks: {', '.join(sorted(missing))}")
    if options.only:
        names = {n: v for n, v in names.items() if any(n.startswith(o) for o in options.only)}
        if not names:
            parser.error(f"--only {' '.join(options.only)} names no benchmark; there are: {', '.join(listed(options.bench))}")
    table = list(rows(documents, measure(options.bench, documents, names, options.rounds)))
    title = f"{cli.machine()}; medians of {options.rounds} interleaved rounds"
    print(markdown(table, title))
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            file.write(f"# {title}\n")
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    if options.markdown:
        options.markdown.write_text(markdown(table, title), encoding="utf-8")
    if options.svg:
        chart(table, title, options.svg)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing was written")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} failed: {error.stderr.strip()}")
