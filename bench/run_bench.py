#!/usr/bin/env python3
"""Runs alloc_bench under each allocator and prints one Markdown table.

Every measurement is a process of its own. In each round the cases come in a shuffled order, and in
each case the allocators do, one directly after the other, so that a change of the machine's mood
falls on all of them. The table shows the median of the rounds.
"""

import argparse
import csv
import fnmatch
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# name -> (names of the library to preload, the first that loads is taken; Debian package)
PEERS = {
    "glibc": ([], "libc6"),
    "jemalloc": (["libjemalloc.so.2"], "libjemalloc2"),
    "tcmalloc": (["libtcmalloc_minimal.so.4"], "libtcmalloc-minimal4"),
    "mimalloc": (["libmimalloc.so.2.0", "libmimalloc.so.2"], "libmimalloc2.0"),
    "tbbmalloc": (["libtbbmalloc_proxy.so.2"], "libtbbmalloc2"),
}
OURS = "ashlar"
NOISY = 0.2  # a cell whose rounds differ by more than this share of the median is marked


def fail(message):
    sys.exit(f"run_bench: {message}")


def child_environment(library):
    """Ours, less whatever tunes an allocator, with the library preloaded."""
    dropped = ("MALLOC_", "MIMALLOC_", "TCMALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "ASHLAR_", "TBB_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    if library:
        environment["LD_PRELOAD"] = library
    return environment


def loads(bench, library):
    """True when the loader takes the library; it only warns when it does not."""
    done = subprocess.run([bench, "--list"], env=child_environment(library), capture_output=True,
                          text=True, timeout=60)
    return done.returncode == 0 and "cannot be preloaded" not in done.stderr


def find_allocators(bench, wanted, given_libraries):
    found = {}
    names = list(PEERS) + [OURS] + [n for n in given_libraries if n not in PEERS and n != OURS]
    unknown = [n for n in wanted or [] if n not in names]
    if unknown:
        fail(f"unknown allocator {', '.join(unknown)}; known: {', '.join(names)}, or add --lib NAME=PATH")
    for name in names:
        if wanted and name not in wanted:
            continue
        if name in given_libraries:
            path = Path(given_libraries[name])
            if not path.is_file():
                fail(f"--lib {name}={path}: no such file")
            candidates = [str(path.resolve())]
        elif name == OURS:
            path = Path(bench).resolve().parent.parent / "ashlar" / "libashlar-malloc.so"
            candidates = [str(path)] if path.is_file() else []
            if not candidates:
                print("run_bench: libashlar-malloc.so is not built, so ashlar is left out", file=sys.stderr)
                continue
        else:
            candidates = PEERS[name][0] or [""]
        library = next((c for c in candidates if loads(bench, c)), None)
        if library is not None:
            found[name] = library
        elif name in given_libraries or name == OURS or wanted:
            fail(f"{name}: the loader does not take {' or '.join(candidates)}")
        else:
            print(f"run_bench: {name} is not installed, so it is left out", file=sys.stderr)
    return found


def run_case(bench, case, library, quick):
    """The result lines of one process as dictionaries; a message in their place when it failed."""
    command = [bench] + (["--quick"] if quick else []) + case.split()
    try:
        done = subprocess.run(command, env=child_environment(library), capture_output=True, text=True,
                              timeout=300)
    except subprocess.TimeoutExpired:
        return "not finished after 300 s"
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        return f"ended with {how}: {last[0]}"
    lines = [dict(pair.split("=", 1) for pair in line.split()) for line in done.stdout.splitlines()
             if line.startswith("workload=")]
    return lines or "printed no result"


def higher_is_better(unit):
    return unit.endswith("/s")


class Row:
    """One line of the table: the values of each allocator, one per round."""

    def __init__(self, label, unit):
        self.label, self.unit, self.values = label, unit, {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name]) if self.values.get(name) else None

    def cost(self, name):
        """Lower is better, whatever the unit; for ratios."""
        value = self.median(name)
        if value is None or value <= 0:
            return None
        return 1 / value if higher_is_better(self.unit) else value

    def best_peer(self, names):
        peers = [(self.cost(n), n) for n in names if n != OURS and self.cost(n) is not None]
        return min(peers)[1] if peers else None

    def noisy(self, name):
        values = self.values[name]
        return max(values) - min(values) > NOISY * statistics.median(values)

    def scale(self):
        smallest = min(self.median(n) for n in self.values)
        if self.unit.startswith("ns"):
            for step, unit in ((1e6, "ms"), (1e3, "µs")):
                if smallest >= 10 * step:
                    return step, unit + self.unit[2:]
        if self.unit == "KiB" and smallest >= 10 * 1024:
            return 1024, "MiB"
        return 1, self.unit


def show(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - int(math.floor(math.log10(value))))}f}" if value > 0.01 else f"{value:.3f}"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def table(sections, names):
    ours = OURS in names
    base = "glibc" if "glibc" in names else names[0]
    peers = len(names) > (1 if ours else 0)
    header = ["workload", "unit"] + names + ([f"{OURS} / best peer"] if ours and peers else [])
    lines = ["| " + " | ".join(header) + " |",
             "|---|---|" + "---:|" * (len(header) - 2)]
    for title, rows in sections:
        if not rows:
            continue
        lines.append("| **" + title + "** |" + " |" * (len(header) - 1))
        ratios = []
        for row in rows:
            step, unit = row.scale()
            best = row.best_peer(names)
            cells = []
            for name in names:
                if not row.values.get(name):
                    cells.append("failed")
                    continue
                text = show(row.median(name) / step) + ("~" if row.noisy(name) else "")
                cells.append(f"**{text}**" if name == best else text)
            if ours and peers:
                if best and row.cost(OURS) is not None:
                    ratios.append(row.cost(OURS) / row.cost(best))
                    cells.append(f"{ratios[-1]:.2f}")
                else:
                    cells.append("")
            lines.append("| " + " | ".join([row.label, unit] + cells) + " |")
        means = []
        for name in names:
            both = [row.cost(name) / row.cost(base) for row in rows
                    if row.cost(name) is not None and row.cost(base) is not None]
            mean = geometric_mean(both)
            means.append(f"{mean:.2f}" if mean else "")
        if ours and peers:
            means.append(f"{geometric_mean(ratios):.2f}" if ratios else "")
        if len(rows) > 1:
            lines.append("| " + " | ".join([f"*geometric mean, {base} = 1*", "ratio"] + means) + " |")
    return lines


def package_version(package):
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cpu_model():
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return found.group(1).strip() if found else ""


def facts(names, given_libraries, rounds, quick, load):
    kernel = re.match(r"[\d.]*\d", platform.release())
    machine = [f"{len(os.sched_getaffinity(0))} CPUs ({platform.machine()}{', ' if cpu_model() else ''}{cpu_model()})",
               f"{platform.system()} {kernel.group(0) if kernel else ''}".strip(),
               " ".join(part for part in platform.libc_ver() if part)]
    versions = []
    for name in names:
        if name in PEERS and name not in given_libraries:
            version = package_version(PEERS[name][1])
            versions.append(f"{name} {version}".strip())
        elif name != OURS:
            versions.append(f"{name} (given by --lib)")
    how = f"{rounds} round{'s' if rounds > 1 else ''}{', quick' if quick else ''}"
    return ["Machine: " + ", ".join(machine) + f"; load average while measuring {load:.1f}.",
            "Peers: " + ", ".join(versions) + "." if versions else "Peers: none.",
            f"Median of {how}. Bold: the best peer. `~`: the rounds differ by more than "
            f"{NOISY:.0%} of the median. Ratios are of cost: below 1 means faster or smaller, also "
            "where the unit is operations per second."]


def verdict(sections):
    """Says how often ashlar wins and loses, so that nobody has to count."""
    lines = []
    for title, rows in sections:
        ratios = [(row.cost(OURS) / row.cost(best), row.label) for row in rows
                  for best in [row.best_peer(list(row.values))] if best and row.cost(OURS) is not None]
        if ratios:
            better = sum(r < 0.97 for r, _ in ratios)
            worse = [f"{label} ({ratio:.2f})" for ratio, label in sorted(ratios, reverse=True) if ratio > 1.03]
            lines.append(f"- {title}: ahead of the best peer in {better}, level (within 3 %) in "
                         f"{len(ratios) - better - len(worse)}, behind in {len(worse)} of {len(ratios)}"
                         + (": " + ", ".join(worse) if worse else "") + ".")
    return lines


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PATTERN", default=[],
                        help="cases whose name or whole line matches, e.g. larson, 'churn 64*'; may be repeated")
    parser.add_argument("--allocators", metavar="LIST", help="comma-separated names; all that are found when absent")
    parser.add_argument("--lib", action="append", metavar="NAME=PATH", default=[],
                        help="a library to preload under that name; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="processes per case and allocator (3)")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions inside each process")
    parser.add_argument("--csv", metavar="FILE", help="write every result line there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there as well")
    parser.add_argument("--bench", metavar="FILE", default=str(ROOT / "build/release/bench/alloc_bench"),
                        help="the alloc_bench program (default: that of the release build)")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffled order (1)")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.rounds < 1:
        fail("--rounds must be at least 1")
    bench = options.bench
    if not os.access(bench, os.X_OK):
        fail(f"no program {os.path.relpath(bench)}; build it with: make bench, or "
             "cmake --preset release && cmake --build --preset release --target bench_programs")
    given_libraries = {}
    for each in options.lib:
        name, equals, path = each.partition("=")
        if not (name and equals and path):
            fail(f"--lib wants NAME=PATH, not '{each}'")
        given_libraries[name] = path
    wanted = [n for n in (options.allocators or "").split(",") if n]
    allocators = find_allocators(bench, wanted, given_libraries)
    if not allocators:
        fail("no allocator to measure")
    listed = subprocess.run([bench, "--list"], env=child_environment(""), capture_output=True, text=True)
    cases = listed.stdout.splitlines()
    if options.only:
        cases = [c for c in cases if any(fnmatch.fnmatchcase(c, p) or fnmatch.fnmatchcase(c.split()[0], p)
                                         for p in options.only)]
        if not cases:
            fail(f"no case matches {' or '.join(options.only)}; {os.path.relpath(bench)} --list shows them")

    names = list(allocators)
    order = random.Random(options.seed)
    results, failures, loads_seen = [], [], []
    total, done, started = options.rounds * len(cases) * len(names), 0, time.monotonic()
    for round_number in range(options.rounds):
        for case in order.sample(cases, len(cases)):
            for name in order.sample(names, len(names)):
                lines = run_case(bench, case, allocators[name], options.quick)
                done += 1
                if isinstance(lines, str):
                    failures.append(f"{name}, {case}: {lines}")
                    print(f"\nrun_bench: {failures[-1]}", file=sys.stderr)
                    continue
                results += [dict(line, round=round_number + 1, allocator=name, case=case) for line in lines]
            loads_seen.append(os.getloadavg()[0])
            print(f"\rrun_bench: {done}/{total} processes, {time.monotonic() - started:.0f} s, {case:<28}",
                  end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    timed, tails, at_rest, peaks = {}, {}, {}, {}
    place = {case: number for number, case in enumerate(cases)}
    for line in sorted(results, key=lambda each: place[each["case"]]):
        into = at_rest if line["unit"] == "KiB" else tails if line["workload"] == "latency" else timed
        label = f"{line['workload']} {line['size']}"
        into.setdefault(label, Row(label, line["unit"])).add(line["allocator"], float(line["value"]))
    last_of_process = {(r["case"], r["round"], r["allocator"]): r for r in results}
    for line in sorted(last_of_process.values(), key=lambda each: place[each["case"]]):
        if line["unit"] != "KiB":
            own = int(line["peak_rss_kib"]) - int(line["harness_kib"])
            peaks.setdefault(line["case"], Row(line["case"], "KiB")).add(line["allocator"], float(own))
    sections = [("Time", list(timed.values())), ("Latency of single calls", list(tails.values())),
                ("Peak RSS, less the harness's arrays", list(peaks.values())),
                ("Memory after one malloc", list(at_rest.values()))]

    report = facts(names, given_libraries, options.rounds, options.quick, statistics.fmean(loads_seen))
    report = [line + "\n" for line in report] + table(sections, names)
    if OURS in names and len(names) > 1:
        report += [""] + verdict(sections)
    if failures:
        report += ["", "Failed:"] + [f"- {each}" for each in failures]
    text = "\n".join(report) + "\n"
    print(text, end="")
    if options.markdown:
        Path(options.markdown).write_text(text)
    if options.csv:
        fields = ["round", "allocator", "case", "workload", "size", "unit", "value", "low", "high", "samples",
                  "operations", "peak_rss_kib", "harness_kib", "page_tables_kib"]
        with open(options.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(results)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nrun_bench: interrupted")
