#!/usr/bin/env python3
"""What size classes of its own are worth to a program: the drop-in library's standard classes against tuned ones.

  bench/tune/tuned_heap.py [--runs N] [--ashlar COMMAND] [--lib FILE] [--keep FOLDER] [PROGRAM...]

Each program (bench/programs) is recorded once, tuned by `ashlar tune --mode heap`, and then run by turns, N times (5), with the
standard classes and with its own (ASHLAR_CONFIG), its answer checked each time. The table, in Markdown, has the slack that the
trace tells, and medians of peak RSS (GNU time's, of the largest process) and of user + system time.
It is recorded and tuned on one input and run on the same: what a program gains whose work is known.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/programs"))
import real_programs  # noqa: E402

DEFAULT = ("python3_json", "python3_objects", "cc1plus", "sqlite3", "redis", "git_gc", "perl", "lua")
MIB = 1024  # KiB


def fail(text):
    raise SystemExit(f"tuned_heap: {text}")


def run(program, work, prefix, settings):
    """One checked run of a program behind `prefix`."""
    environment = real_programs.clean_environment() | settings
    program.before_run(work)
    process = subprocess.Popen([*prefix, *map(str, program.command(work, False))], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    driven = None
    if program.server:
        driven = program.drive(work, False)
        program.stop(work)
    out, err = process.communicate(timeout=10 * real_programs.TIMEOUT)
    finished = real_programs.Finished(process.returncode, driven.output if driven else out, err)
    if (wrong := program.check(work, finished)) is not None:
        fail(f"{program.name}: {wrong}\n{err.decode(errors='replace')[-1000:]}")


def measured(program, work, folder, settings):
    """(peak RSS in KiB, user + system seconds) of one run."""
    figures = folder / "time"
    run(program, work, ["/usr/bin/time", "-o", str(figures), "-f", "%M %U %S"], settings)
    peak, user, system = figures.read_text().split()[-3:]
    return int(peak), float(user) + float(system)


def ratio(tuned, standard):
    return f"{statistics.median(tuned) / statistics.median(standard):.2f}"


def line(program, work, folder, options):
    trace, classes, figures = (folder / f"{program.name}.{kind}" for kind in ("atrace", "classes", "json"))
    run(program, work, [options.ashlar, "record", "-o", str(trace), "--"], {})
    tuned = subprocess.run([options.ashlar, "tune", "--mode", "heap", "-o", str(classes), "--certificate", str(figures),
                            str(trace)], capture_output=True, text=True)
    if tuned.returncode != 0:
        fail(f"{program.name}: ashlar tune ended with {tuned.returncode}:\n{tuned.stderr}")
    said = json.loads(figures.read_text())
    preload = {"LD_PRELOAD": program.preload(str(options.lib))}
    ways = {"standard": preload, "tuned": preload | {"ASHLAR_CONFIG": str(classes)}}
    samples = {way: [] for way in ways}
    for _ in range(options.runs):
        for way, settings in ways.items():
            samples[way].append(measured(program, work, folder, settings))
    rss = {way: [peak for peak, _ in runs] for way, runs in samples.items()}
    cpu = {way: [seconds for _, seconds in runs] for way, runs in samples.items()}

    def slack(which, when):
        asked = said["requested_bytes"][when]
        return f"{100 * said[which][when] / asked:.1f} %" if asked else "-"
    return (f"| {program.name} | {said['standard_classes_used']} / {said['classes_used']} |"
            f" {slack('standard_slack_bytes', 'at_peak')} / {slack('slack_bytes', 'at_peak')} |"
            f" {slack('standard_slack_bytes', 'over_time')} / {slack('slack_bytes', 'over_time')} |"
            f" {statistics.median(rss['standard']) / MIB:.1f} / {statistics.median(rss['tuned']) / MIB:.1f} |"
            f" {ratio(rss['tuned'], rss['standard'])} | {ratio(cpu['tuned'], cpu['standard'])}"
            f" ({min(cpu['tuned']) / max(cpu['standard']):.2f} to {max(cpu['tuned']) / min(cpu['standard']):.2f}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    parser.add_argument("--lib", type=pathlib.Path, default=ROOT / "build/release/ashlar/libashlar-malloc.so")
    parser.add_argument("--keep", type=pathlib.Path, help="leave traces and classes in this folder")
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    known = {program.name: program for program in real_programs.programs()}
    unknown = sorted(set(options.names) - set(known))
    if unknown or options.runs < 1:
        parser.error(f"no such program: {' '.join(unknown)}" if unknown else "--runs is at least 1")
    work = ROOT / "build/programs"
    print("| program | classes used | slack at the peak | slack over time | peak RSS, MiB | ratio | user + system, ratio (least to most) |")
    print("|---|---|---|---|---|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or DEFAULT:
            program = known[name]
            if program.missing():
                print(f"tuned_heap: {name} is left out: {', '.join(program.missing())} is missing", file=sys.stderr)
                continue
            program.prepare(work)
            print(line(program, work, folder, options), flush=True)


if __name__ == "__main__":
    main()
