#!/usr/bin/env python3
"""What tuning is worth to real programs: their static pools beside powers of two, their heap's classes beside the standard ones.

  bench/tune/tuned_programs.py [--runs N] [--largest BYTES] [--ashlar COMMAND] [--lib FILE] [--keep FOLDER] [PROGRAM...]

Each program (bench/programs) is recorded once with all the processes that it starts. Two tables, in Markdown:
  static  the bytes of the pools that `ashlar tune` chooses, of requests up to --largest, and of
          powers of two, and how long `ashlar tune verify` took to find the certificate true
  heap    the program run by turns, N times (5), with the standard classes and with those of `ashlar tune --mode heap`
          (ASHLAR_CONFIG), its answer checked each time: the slack that the traces tell, medians of peak RSS (GNU time's, of
          the largest process) and of user + system time
It is recorded, tuned and run on one input: what a program gains whose work is known.
Ends with 1 where verify refuses.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/programs"))
import real_programs  # noqa: E402

DEFAULT = ("python3_json", "python3_objects", "cc1plus", "sqlite3", "redis", "git_gc", "perl", "lua")
CHOSEN = re.compile(r"powers of two take ([\d,]+)\).*^  ([\d,]+) bytes in (\d+) class", re.DOTALL | re.MULTILINE)
MIB = 1024  # KiB


def fail(text):
    raise SystemExit(f"tuned_programs: {text}")


def ashlar(options, *arguments):
    """What the command printed."""
    command = [options.ashlar, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def run(program, work, prefix, library=None, settings=()):
    """One checked run of a program behind `prefix`."""
    finished, _ = real_programs.run_once(program, work, False, library, settings, prefix, 10 * real_programs.TIMEOUT)
    if (wrong := program.check(work, finished)) is not None:
        fail(f"{program.name}: {wrong}\n{finished.stderr.decode(errors='replace')[-1000:]}")


def recorded(program, work, folder, options):
    """The traces of the program and of its children."""
    for old in folder.glob(f"{program.name}.*atrace"):
        old.unlink()
    run(program, work, [options.ashlar, "record", "--no-stacks", "-o", str(folder / f"{program.name}.atrace"), "--"])
    return sorted(folder.glob(f"{program.name}.*atrace"))


def static_line(program, traces, folder, options):
    """A row of the table of pools."""
    header, certificate = (folder / f"{program.name}.{kind}" for kind in ("hpp", "json"))
    printed = ashlar(options, "tune", "--largest", options.largest, "-o", header, "--certificate", certificate, *traces)
    powers, least, classes = (int(number.replace(",", "")) for number in CHOSEN.search(printed).groups())
    started = time.monotonic()
    ashlar(options, "tune", "verify", certificate)
    verified = time.monotonic() - started
    return f"| {program.name} | {classes} | {least:,} | {powers / least:.2f} | {verified:.1f} s |"


def measured(program, work, folder, library, settings):
    """(peak RSS in KiB, user + system seconds) of one run."""
    figures = folder / "time"
    run(program, work, ["/usr/bin/time", "-o", str(figures), "-f", "%M %U %S"], library, settings)
    peak, user, system = figures.read_text().split()[-3:]
    return int(peak), float(user) + float(system)


def ratio(tuned, standard):
    return f"{statistics.median(tuned) / statistics.median(standard):.2f}"


def heap_line(program, work, traces, folder, options):
    """A row of the table of size classes."""
    classes, certificate = (folder / f"{program.name}.{kind}" for kind in ("classes", "heap.json"))
    ashlar(options, "tune", "--mode", "heap", "-o", classes, "--certificate", certificate, *traces)
    said = json.loads(certificate.read_text())
    ways = {"standard": [], "tuned": [f"ASHLAR_CONFIG={classes}"]}
    samples = {way: [] for way in ways}
    for _ in range(options.runs):
        for way, settings in ways.items():
            samples[way].append(measured(program, work, folder, str(options.lib), settings))
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
    parser.add_argument("--largest", default="32KiB", help="the static pools' largest request (32KiB)")
    parser.add_argument("--ashlar", default=str(ROOT / "build/release/bin/ashlar"))
    parser.add_argument("--lib", type=pathlib.Path, default=ROOT / "build/release/ashlar/libashlar-malloc.so")
    parser.add_argument("--keep", type=pathlib.Path, help="leave traces, pools, classes and certificates in this folder")
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    known = {program.name: program for program in real_programs.programs()}
    unknown = sorted(set(options.names) - set(known))
    if unknown or options.runs < 1:
        parser.error(f"no such program: {' '.join(unknown)}" if unknown else "--runs is at least 1")
    work = ROOT / "build/programs"
    static = ["| program | classes | tune, bytes | powers of two | verify |", "|---|---:|---:|---:|---:|"]
    heap = ["| program | classes used | slack at the peak | slack over time | peak RSS, MiB | ratio | user + system, ratio (least to most) |",
            "|---|---|---|---|---|---:|---:|"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or DEFAULT:
            program = known[name]
            if program.missing():
                print(f"tuned_programs: {name} is left out: {', '.join(program.missing())} is missing", file=sys.stderr)
                continue
            program.prepare(work)
            traces = recorded(program, work, folder, options)
            for table, row in (static, static_line(program, traces, folder, options)), \
                              (heap, heap_line(program, work, traces, folder, options)):
                table.append(row)
                print(row, file=sys.stderr, flush=True)
    print("\n".join([*static, "", *heap]))


if __name__ == "__main__":
    main()
