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
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ashlar_bench import cli  # noqa: E402

RUNS = 3
SIDES = {"original": "the document's algorithm", "ashlar": "ashlar", "bare": "ashlar, the original's promises",
         "system": "system"}
OTHERS = ("original", "system")
OURS = ("ashlar", "bare")
LEVEL = 1.02  # two medians that differ by less are level


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
        print(f"round {number + 1} of {rounds} is done", file=sys.stderr)
    return {key: {side: [statistics.median(run) for run in zip(*each)] for side, each in sides.items()}
            for key, sides in samples.items()}


def cells(figures, scale):
    """Returns: the figures of each side run by run, of ours the ratios, and the original's whole time over the system's."""
    best = [min(runs) for runs in zip(*(figures[side] for side in OTHERS))]
    found = [" / ".join(figure(run * scale) for run in figures[side]) if side in figures else "-" for side in SIDES]
    # A no-op's time is below the clock's step.
    found += [" / ".join(ratio(run / max(least, 0.5)) for run, least in zip(figures[side], best)) if side in figures else "-"
              for side in OURS]
    return [*found, f"{sum(figures['original']) / max(sum(figures['system']), 0.5):.2f}"]


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(value):
    return f"**{value:.2f}**" if value > LEVEL else f"{value:.2f}"


def table(documents, measured, rounds):
    """Returns: the table in Markdown, a row for each entry that was measured."""
    lines = [f"{cli.machine()}; medians of {rounds} interleaved rounds", "",
             "Processor time of three runs of one process (two threads: wall time); less is better. A ratio is ours over the "
             f"faster of document and system; those above {LEVEL} are bold.", "",
             "| benchmark | " + " | ".join(SIDES.values()) +
             " | ashlar, ratio | with the original's promises, ratio | original / system (as published) |",
             "|---|" + "---:|" * (len(SIDES) + 3)]
    for entry in documents:
        if (figures := measured.get((entry["benchmark"], entry["part"]))) is None:
            continue
        unit, scale = ("ns", 1000 / entry["operations"]) if "operations" in entry else ("us", 1)
        published = f" ({sum(entry['theirs']) / sum(entry['system']):.2f})" if "theirs" in entry else ""
        lines.append(f"| {entry['title']}, {unit} | {' | '.join(cells(figures, scale))}{published} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/classic_bench", help="the benchmark program")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side (default 5)")
    parser.add_argument("--only", default="", help="a benchmark's name, or its beginning")
    parser.add_argument("--markdown", type=Path, help="write the table there, too")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    documents = json.loads((HERE / "documents.json").read_text(encoding="utf-8"))
    names = listed(options.bench)
    missing = {entry["benchmark"] for entry in documents} ^ set(names)
    if missing:
        sys.exit(f"documents.json and the program do not name the same benchmarks: {', '.join(sorted(missing))}")
    chosen = {name: sides for name, sides in names.items() if name.startswith(options.only)}
    if not chosen:
        parser.error(f"--only {options.only} names no benchmark; there are: {', '.join(names)}")
    text = table(documents, measure(options.bench, documents, chosen, options.rounds), options.rounds)
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing was written")
    except FileNotFoundError as missing_program:
        sys.exit(f"no program at '{missing_program.filename}': build its target classic_bench, or give --bench")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} failed: {error.stderr.strip()}")
