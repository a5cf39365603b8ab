#!/usr/bin/env python3
"""Runs the documents' benchmarks on the system's allocator and on ashlar, and compares the ratios.

Each benchmark runs three times in one process, as in the documents (a benchmark whose pool never uses a
block again: in three processes). Processes of the two sides alternate; a figure is the median over the
rounds. The ratio is ashlar's time over the system's; "document" is the same ratio as the document gives it.
"""
import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = 3
SIDES = ("system", "ashlar")


def machine():
    """Returns: one line that names the processor, the system and the C library."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} x {model}, {platform.system()} {platform.release().split('-')[0]}, " \
           f"{' '.join(platform.libc_ver())}"


def listed(bench):
    """Returns: name -> (runs a process can do or 0, parts)."""
    out = subprocess.run([bench, "--list"], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in out.splitlines()]
    return {name: (int(runs), parts) for name, runs, *parts in lines}


def once(bench, name, side, limit):
    """Returns: the figures of RUNS runs: [run][part], microseconds."""
    runs = []
    while len(runs) < RUNS:
        count = min(limit or RUNS, RUNS - len(runs))
        out = subprocess.run([bench, name, side, str(count)], check=True, capture_output=True, text=True).stdout
        runs += [[float(x) for x in line.split()[1:]] for line in out.splitlines()]
    return runs


def measure(bench, names, rounds):
    """Returns: (benchmark, part) -> side -> median microseconds of each run."""
    samples = {}
    for number in range(rounds):
        for name, (limit, parts) in names.items():
            for side in SIDES if number % 2 == 0 else reversed(SIDES):
                for run, figures in enumerate(once(bench, name, side, limit)):
                    for part, figure in zip(parts, figures):
                        samples.setdefault((name, part), {}).setdefault(side, {}).setdefault(run, []).append(figure)
            if sys.stderr.isatty():
                print(f"\rround {number + 1} of {rounds}: {name:45}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r" + " " * 75 + "\r", end="", file=sys.stderr)
    return {key: {side: [statistics.median(runs[r]) for r in range(RUNS)] for side, runs in sides.items()}
            for key, sides in samples.items()}


def rows(documents, measured):
    """Returns: one dict a row of the documents, with our figures beside theirs."""
    for entry in documents:
        figures = measured.get((entry["benchmark"], entry["part"]))
        if figures is None:
            continue
        row = {"row": entry["title"]}
        for side in SIDES:
            for run in range(RUNS):
                row[f"{side}_us_{run + 1}"] = round(figures[side][run], 3)
        for run in range(RUNS):
            row[f"ratio_{run + 1}"] = round(figures["ashlar"][run] / figures["system"][run], 3)
        row["ratio"] = round(sum(figures["ashlar"]) / sum(figures["system"]), 3)
        row["document_ratio"] = ""
        if "theirs" in entry:
            row["document_ratio"] = round(sum(entry["theirs"]) / sum(entry["system"]), 3)
        yield row


def verdict(row):
    """Returns: what the row says of us. A no-op's time is under the clock's step: below 0.0005 is 0."""
    if row["document_ratio"] == "":
        return "-"
    return "better" if row["ratio"] <= max(row["document_ratio"], 0.0005) else "WORSE"


def microseconds(values):
    return " / ".join(f"{v:,.0f}" if v >= 100 else f"{v:.3g}" for v in values)


def markdown(table, title):
    lines = [f"{title}", "",
             "| benchmark | system, us, run 1 / 2 / 3 | ashlar, us | ratio by run | ratio | document's ratio | |",
             "|---|---:|---:|---:|---:|---:|---|"]
    for row in table:
        system, ours = ([row[f"{side}_us_{r + 1}"] for r in range(RUNS)] for side in SIDES)
        by_run = " / ".join(f"{row[f'ratio_{r + 1}']:.2f}" for r in range(RUNS))
        document = "-" if row["document_ratio"] == "" else f"{row['document_ratio']:.3f}"
        lines.append(f"| {row['row']} | {microseconds(system)} | {microseconds(ours)} | {by_run} "
                     f"| {row['ratio']:.3f} | {document} | {verdict(row)} |")
    return "\n".join(lines) + "\n"


def chart(table, title, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "ashlar"
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    shown = list(reversed(table))
    figure, axes = pyplot.subplots(figsize=(10, 0.42 * len(shown) + 1.2))
    places = range(len(shown))
    ours = [row["ratio"] for row in shown]
    theirs = [row["document_ratio"] or 0 for row in shown]
    axes.barh([p + 0.2 for p in places], theirs, height=0.36, color="#b8b8b8", label="the document's own allocator")
    axes.barh([p - 0.2 for p in places], ours, height=0.36, color="#27618d", label="ashlar under the same names")
    for place, row in zip(places, shown):
        axes.text(row["ratio"] + 0.01, place - 0.2, f"{row['ratio']:.2f}", va="center", fontsize=8)
        if row["document_ratio"] != "":
            axes.text(row["document_ratio"] + 0.01, place + 0.2, f"{row['document_ratio']:.2f}", va="center", fontsize=8)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.axvline(1, color="#444444", linewidth=0.8, linestyle="--")
    axes.set_yticks(list(places), [row["row"] for row in shown], fontsize=8)
    axes.set_xlabel("time / the system allocator's time on the same machine (three runs together; less is better)")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8, loc="lower right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/classic_bench", help="the benchmark program")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side (default 5)")
    parser.add_argument("--only", action="append", help="a benchmark's name, or its beginning (may be repeated)")
    parser.add_argument("--csv", help="write the table there")
    parser.add_argument("--svg", help="draw the ratios there (needs matplotlib)")
    parser.add_argument("--markdown", help="write the table there as Markdown")
    options = parser.parse_args()
    if options.svg:
        try:
            import matplotlib  # noqa: F401  before minutes of measuring, not after
        except ImportError:
            parser.error("--svg needs matplotlib (Debian: apt-get install python3-matplotlib)")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not os.access(options.bench, os.X_OK):
        parser.error(f"no program at '{options.bench}': build it with 'make build', or give --bench")
    with open(os.path.join(HERE, "documents.json"), encoding="utf-8") as file:
        documents = json.load(file)
    names = listed(options.bench)
    missing = {entry["benchmark"] for entry in documents} ^ set(names)
    if missing:
        sys.exit(f"documents.json and the program do not name the same benchmarks: {', '.join(sorted(missing))}")
    if options.only:
        names = {n: v for n, v in names.items() if any(n.startswith(o) for o in options.only)}
        if not names:
            parser.error(f"--only {' '.join(options.only)} names no benchmark; there are: {', '.join(listed(options.bench))}")
    table = list(rows(documents, measure(options.bench, names, options.rounds)))
    title = f"{machine()}; medians of {options.rounds} interleaved rounds"
    print(markdown(table, title))
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            file.write(f"# {title}\n")
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(markdown(table, title))
    if options.svg:
        chart(table, title, options.svg)
    worse = [row["row"] for row in table if verdict(row) == "WORSE"]
    if worse:
        print("worse than the document's ratio: " + "; ".join(worse))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing was written")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} failed: {error.stderr.strip()}")
