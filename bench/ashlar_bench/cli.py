"""The command line: measures, or makes tables and charts of rows that are there."""

import argparse
import os
import platform
import random
import re
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path

import page_part

from . import allocators, cases, charts, measure, overview, page, quiet, results, tables
from .allocators import ROOT, UserError

QUICK_MINUTES = 3
GUESSED_SECONDS = {True: 0.6, False: 3.0}  # a process, before any is measured
DESCRIPTION = """Runs workloads and real programs under each allocator and makes tables of cost beside the best peer.

Every measurement is a process of its own. In each round the cases come in a shuffled order, and in each case the
allocators do, one directly after the other, so that a change of the machine's mood falls on all of them.
"""
EPILOG = """measure:            run_bench.py [--quick] [OPTION...]
count, untimed:     run_bench.py --instructions | --system-calls [OPTION...]
tables and charts:  run_bench.py tables --csv FILE [--csv FILE...] [--markdown FILE] [--charts FOLDER] [--document FILE]
"""


def say(message):
    print(f"run_bench: {message}", file=sys.stderr, flush=True)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="run_bench.py", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", choices=("measure", "tables"), default="measure",
                        help="tables: measure nothing, make tables of --csv (default: measure)")
    chosen = parser.add_argument_group("what is measured")
    chosen.add_argument("--quick", action="store_true",
                        help=f"one round of the cases tagged quick, smaller, in {QUICK_MINUTES} minutes")
    chosen.add_argument("--only", action="append", metavar="PATTERN", default=[],
                        help="cases whose first word or whole line matches, e.g. larson, 'churn 64*'; may be repeated")
    chosen.add_argument("--tag", action="append", metavar="TAG", default=[],
                        help="cases with that tag, e.g. single, program; may be repeated")
    chosen.add_argument("--allocators", metavar="LIST", default="",
                        help="comma-separated names; all that are found when absent")
    chosen.add_argument("--lib", action="append", metavar="NAME=PATH", default=[],
                        help="a library to preload under that name; may be repeated")
    chosen.add_argument("--rounds", type=int, metavar="N", help="processes per case and allocator (5; with --quick 1)")
    chosen.add_argument("--minutes", type=float, metavar="N",
                        help=f"leave out what does not fit in (with --quick {QUICK_MINUTES}, else all is run)")
    chosen.add_argument("--seed", type=int, default=1, help="of the shuffled order (1)")
    chosen.add_argument("--bench", metavar="FILE", default=str(ROOT / "build/release/bench/alloc_bench"),
                        help="the alloc_bench program (default: that of the release build)")
    chosen.add_argument("--work", metavar="FOLDER", type=Path, default=ROOT / "build/programs",
                        help="for the inputs of the real programs (build/programs)")
    chosen.add_argument("--list", action="store_true", help="only print the chosen cases and their tags")
    counted = chosen.add_mutually_exclusive_group()
    counted.add_argument("--instructions", action="store_true",
                         help="count instructions by callgrind instead, of the cases tagged single and of a hit")
    counted.add_argument("--system-calls", action="store_true",
                         help="count system calls by strace instead, of workloads")
    output = parser.add_argument_group("what is written")
    output.add_argument("--csv", action="append", metavar="FILE", default=[],
                        help="the raw rows, appended as they come; with tables: read them (may be repeated)")
    output.add_argument("--markdown", metavar="FILE", type=Path, help="the tables")
    output.add_argument("--charts", metavar="FOLDER", type=Path,
                        help="the charts, bench-*.svg (needs python3-matplotlib)")
    output.add_argument("--publish-charts", metavar="FOLDER", type=Path,
                        help="the charts again, where a --document shows them")
    output.add_argument("--page", metavar="FILE", type=Path,
                        help="the overview and the charts as one HTML file (needs --charts)")
    output.add_argument("--document", metavar="FILE", type=Path, action="append", default=[],
                        help="rewrite the parts between '<!-- generated: NAME -->' and '<!-- end -->' in place "
                             "(may be repeated)")
    output.add_argument("--publish-csv", metavar="FILE", type=Path, help="the rows of all --csv in one file")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.minutes is not None and options.minutes <= 0:
        parser.error("--minutes must be more than 0")
    if options.command == "tables" and not options.csv:
        parser.error("tables wants --csv FILE, the rows of an earlier run")
    if options.command == "measure" and len(options.csv) > 1:
        parser.error("measuring writes one --csv; several are for tables")
    if (options.page or options.publish_charts) and not options.charts:
        parser.error("--page and --publish-charts want --charts FOLDER, whose charts they show")
    for path in (options.markdown, options.page, options.publish_csv, *map(Path, options.csv)):
        if path and not path.resolve().parent.is_dir():
            parser.error(f"{path}: there is no folder {path.parent}")
    for written in options.document:
        if not written.is_file():
            parser.error(f"--document {written}: no such file; write its text first, with the markers in it")
    if options.charts and not charts.available():
        parser.error(f"--charts needs matplotlib, which {sys.executable} does not find; scripts/setup.sh chart "
                     "installs it for /usr/bin/python3")
    return options


def cpu_model():
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        return ""
    return found.group(1).strip() if found else ""


def machine():
    kernel = re.match(r"[\d.]*\d", platform.release())
    parts = [f"{len(os.sched_getaffinity(0))} CPUs ({platform.machine()}{', ' if cpu_model() else ''}{cpu_model()})",
             f"{platform.system()} {kernel.group(0) if kernel else ''}".strip(),
             " ".join(platform.libc_ver()).strip()]
    return ", ".join(part for part in parts if part)


def run_facts(found, chosen, rounds, options):
    facts = {"machine": machine(),
             "method": f"Median of {rounds} round{'s' if rounds > 1 else ''}{', quick' if options.quick else ''}, seed "
                       f"{options.seed}.",
             "allocators": ",".join(each.name for each in found),
             "cases": ";".join(case.name for case in chosen)}
    facts.update({f"version {each.name}": each.version for each in found if each.version})
    return facts


def choose_cases(options):
    if not os.access(options.bench, os.X_OK):
        raise UserError(f"no program {os.path.relpath(options.bench)}; build it with: make bench, or cmake --preset "
                        "release && cmake --build --preset release --target bench_programs")
    options.bench = str(Path(options.bench).resolve())
    synthetic = cases.workloads(options.bench)
    if options.instructions and measure.hit_path_program(options.bench).is_file():
        synthetic.append(cases.Case(measure.HIT_PATH, frozenset({"single"})))
    real = [] if options.instructions or options.system_calls else cases.programs()
    chosen = cases.choose([*synthetic, *real], options.only, options.tag)
    if options.instructions:
        chosen = [case for case in chosen if "single" in case.tags]
        if not chosen:
            raise UserError("instructions are counted of cases tagged single, and none of these is")
    if options.quick and not options.only and not options.tag:
        chosen = [case for case in chosen if "quick" in case.tags] or chosen
    return chosen


class Progress:
    """One line, rewritten: done/total, time taken, time still to go, the current case."""

    def __init__(self, total, guess):
        self.total, self.done, self.guess, self.started = total, 0, guess, time.monotonic()

    def elapsed(self):
        return time.monotonic() - self.started

    def each(self):
        """Seconds a process: what was measured, with the guess as if it were ten processes."""
        return (self.elapsed() + 10 * self.guess) / (self.done + 10)

    def show(self, case):
        left = (self.total - self.done) * self.each()
        text = f"{self.done}/{self.total} processes, {minutes(self.elapsed())} taken, " \
               f"about {minutes(left)} to go, {case}"
        if sys.stderr.isatty():
            print(f"\r\x1b[Krun_bench: {text[:110]}", end="", file=sys.stderr, flush=True)
        elif self.done == 0 or self.done * 20 // self.total != (self.done - 1) * 20 // self.total:
            say(text)

    def clear(self):
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def plan(chosen, found, rounds, seed):
    """[(round, case, allocators in order)]: both shuffled, the allocators of a case next to each other."""
    order = random.Random(seed)
    return [(number, case, order.sample(found, len(found))) for number in range(1, rounds + 1)
            for case in order.sample(chosen, len(chosen))]


def one_run(case, allocator, options):
    if options.instructions and case.name == measure.HIT_PATH:
        return measure.hit_path(options.bench, allocator)
    if options.instructions:
        return measure.instructions(options.bench, case, allocator, options.quick)
    if options.system_calls:
        return measure.system_calls(options.bench, case, allocator, options.quick)
    if case.program:
        return measure.program(case, allocator, options.quick, options.work.resolve())
    return measure.workload(options.bench, case, allocator, options.quick)


def prepare_programs(chosen, work):
    real = [case for case in chosen if case.program]
    if real:
        work.mkdir(parents=True, exist_ok=True)
        if not os.access(measure.GNU_TIME, os.X_OK):
            raise UserError(f"{measure.GNU_TIME} is not there; scripts/setup.sh bench brings it (Debian: time)")
    ready = [case for case in chosen if not case.program]
    for case in real:
        missing = case.program.missing()
        if missing:
            say(f"{case.name} is left out: no {', '.join(missing)}; scripts/setup.sh programs brings it")
            continue
        try:
            case.program.prepare(work.resolve())
            ready.append(case)
        except (OSError, RuntimeError) as problem:
            say(f"{case.name} is left out: its input could not be made: {problem}")
    if not ready:
        raise UserError("nothing is left to measure")
    return ready


def measure_all(steps, limit_seconds, options, writer):
    """(rows, what is known at the end, whether an interrupt ended it)."""
    progress = Progress(sum(len(order) for _, _, order in steps), GUESSED_SECONDS[options.quick])
    say(f"{progress.total} processes; about {minutes(progress.total * progress.guess)}"
        + (f", at most {limit_seconds / 60:g} minutes" if limit_seconds else ""))
    rows, left_out, load, watch = [], [], [], quiet.Watch()
    interrupted = False
    try:
        for number, case, order in steps:
            if limit_seconds and progress.elapsed() + len(order) * progress.each() > limit_seconds:
                left_out.append(case.name)
                progress.total -= len(order)
                continue
            load.append(os.getloadavg()[0])
            watch.probe()
            for allocator in order:
                progress.show(f"{case.name} ({allocator.name})")
                named = {"round": number, "allocator": allocator.name, "source": case.source, "case": case.name}
                try:
                    new = [{**row, **named} for row in one_run(case, allocator, options)]
                except measure.Failed as problem:
                    new = [{**named, "row": case.name, "kind": results.FAILURE, "fact": str(problem)}]
                    progress.clear()
                    say(f"{allocator.name}, {case.name}: {problem}")
                writer.append(new)
                rows += new
                progress.done += 1
    except KeyboardInterrupt:
        interrupted = True
    progress.clear()
    facts = {"load average": f"{statistics.fmean(load) if load else 0:.1f}", "the machine": watch.text()}
    if left_out:
        facts["left out for lack of time"] = ", ".join(left_out)
    if interrupted:
        facts["interrupted"] = f"after {progress.done} of {progress.total} processes"
    say(f"{progress.done} processes in {minutes(progress.elapsed())}")
    for name, value in facts.items():
        say(f"{name}: {value}")
    writer.add_facts(facts)
    return rows, facts, interrupted


def normalised(rows):
    """The rows as they would be read from the file."""
    return [{name: results.number(row.get(name)) if name in results.NUMBERS else str(row.get(name, ""))
             for name in results.FIELDS} for row in rows]


def names_of(facts, rows):
    measured = list(dict.fromkeys(row["allocator"] for row in rows))
    listed = [name for name in facts.get("allocators", "").split(",") if name in measured]
    return listed + [name for name in measured if name not in listed]


def in_table_order(facts, rows):
    """Measured was in shuffled order; cases that the facts do not name come last."""
    place = {case: number for number, case in enumerate(facts.get("cases", "").split(";"))}
    return sorted(rows, key=lambda row: place.get(row["case"], len(place)))


def write_reports(facts, rows, options):
    names = names_of(facts, rows)
    rows = in_table_order(facts, rows)
    text = tables.report(facts, rows, names)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    print(tables.overview_of(rows, names) or text, end="")
    drawn = {}
    if options.charts:
        options.charts.mkdir(parents=True, exist_ok=True)
        drawn = charts.draw(rows, names, options.charts)
    if options.page:
        shown = [(charts.CAPTIONS[name], (options.charts / file).read_text(encoding="utf-8"))
                 for name, file in drawn.items()]
        options.page.write_text(page.render(overview.judged(tables.timed_alone(rows), names),
                                            tables.machine_text(facts, names), shown), encoding="utf-8")
    for file, what in ((options.markdown, "all tables"), (options.page, "the charts")):
        if file:
            say(f"{os.path.relpath(file)} has {what}")
    if options.publish_charts:
        for file in drawn.values():
            shutil.copy(options.charts / file, options.publish_charts)
    for written in options.document:
        path = os.path.relpath(options.publish_charts or options.charts or ".", written.parent)
        parts = tables.parts(facts, rows, names)
        parts.update({f"chart-{name}": charts.as_markdown(name, drawn, path) for name in charts.CHARTS})
        changed = page_part.rewritten(written.read_text(encoding="utf-8"), parts)
        written.write_text(changed, encoding="utf-8")
    if options.publish_csv:
        results.write(options.publish_csv, facts, rows)


def make_tables(options):
    facts, rows = {}, []
    for path in options.csv:
        try:
            more_facts, more = results.read(path)
        except (OSError, ValueError) as problem:
            raise UserError(f"--csv {path}: {problem}") from None
        facts = {**more_facts, **facts}
        rows += more
    if not rows:
        raise UserError(f"{', '.join(options.csv)}: no rows")
    write_reports(facts, rows, options)
    return 1 if any(row["kind"] == results.FAILURE for row in rows) else 0


def measure_and_report(options):
    chosen = choose_cases(options)
    if options.list:
        for case in chosen:
            print(f"{case.name}\t{','.join(sorted(case.tags))}")
        return 0
    counting = options.instructions or options.system_calls
    rounds = options.rounds or (1 if options.quick or counting else 5)
    limit = options.minutes or (QUICK_MINUTES if options.quick and not counting and not options.only
                                and not options.tag and not options.rounds else None)
    wanted = [name for name in options.allocators.split(",") if name]
    found = allocators.find(allocators.ours_beside(options.bench), wanted, allocators.parse_given(options.lib), allocators.read_peers(), say)
    chosen = prepare_programs(chosen, options.work)
    facts = run_facts(found, chosen, rounds, options)
    steps = plan(chosen, found, rounds, options.seed)
    writer = results.Writer(options.csv[0] if options.csv else None, facts)
    try:
        rows, more_facts, interrupted = measure_all(steps, limit * 60 if limit else None, options, writer)
    finally:
        writer.close()
    if interrupted:
        kept = f"; the rows so far are in {options.csv[0]}: run_bench.py tables --csv {options.csv[0]} makes a report " \
            "of them" if options.csv else "; without --csv no row is kept"
        say(f"interrupted{kept}")
        return 128 + signal.SIGINT
    rows = normalised(rows)
    write_reports({**facts, **more_facts}, rows, options)
    return 1 if any(row["kind"] == results.FAILURE for row in rows) else 0


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        return make_tables(options) if options.command == "tables" else measure_and_report(options)
    except UserError as problem:
        say(str(problem))
        return 2
