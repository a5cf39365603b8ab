#!/usr/bin/env python3
"""Everything that is too long for every merge, in order, part by part (parts.py): `make torture`.

usage: torture.py [--list] [--only PART...] [--minutes N] [--seed N] [--document FILE]

--minutes scales what can do more or less: at 60, the default, it has its full measure, at 6 a tenth of it. The other
parts take what they take; --list tells. A part that fails does not end the others, but makes the exit status 1. Each
part's output is kept in build/torture/PART.log, and its result as a line of build/torture/results.jsonl, after Ctrl-C, too.
--document renews the table of the newest results between the markers of that file; what has none here keeps its row.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import page_part  # noqa: E402
from parts import PARTS, Plan  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOTALS = ("operations", "faults injected", "forks")


def commit():
    return subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"],
                          capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def machine():
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    return f"{system}, Linux {platform.release().split('-')[0]}, {platform.machine()}, {os.cpu_count()} processors"


def last_line(log):
    lines = log.read_bytes()[-2000:].decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:90] if lines else ""


def run(command, log):
    """The command's status; its output goes to the log."""
    with open(log, "ab") as output:
        try:
            return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                  check=False).returncode
        except OSError as problem:
            output.write(f"{command[0]}: {problem.strerror}\n".encode())
            return 127


def run_part(part, plan, folder, here):
    log = folder / f"{part.name}.log"
    log.write_bytes(b"")
    command = part.command(plan)
    began, started = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    status = 0
    if part.targets:
        targets = [] if part.targets == ("all",) else ["--target", *part.targets]
        for step in (["cmake", "--preset", "release"],
                     ["cmake", "--build", "--preset", "release", "-j", str(plan.jobs), *targets]):
            status = status or run(step, log)
        started = time.monotonic()  # what is kept is the part's own time
    status = status or run(command, log)
    counts, missing = part.counted(log.read_text(errors="replace"))
    failed = f"it tells no {', no '.join(missing)}" if missing else ""
    if status:
        failed = f"status {status}: {last_line(log)}"
    return {"part": part.name, "command": " ".join(command), "began": began.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - started, 1), "commit": here, "machine": machine(),
            "scale": plan.scale, "seed": plan.seed if part.seeded else None, "counts": counts,
            "result": "fail" if failed else "pass", "why": failed}


def read_results(file):
    """The newest result of each part."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {result["part"]: result for result in map(json.loads, lines)}


def duration(seconds):
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"


def row(part, result):
    did = ", ".join(f"{number:,} {what}" for what, number in result["counts"].items())
    return (f"| {part.what} | {did or '-'} | {result['seed'] or ''} | {duration(result['seconds'])} |"
            f" {result['began'][:10]}, {result['commit']} | {result['result']} |")


def table(results, rows_before):
    """What has no result here keeps the row that it has, `rows_before` by what they are of."""
    rows = {part.name: row(part, results[part.name]) if part.name in results else rows_before.get(part.what)
            for part in PARTS}
    rows = {name: line for name, line in rows.items() if line}
    lines = ["| part | did | seed | time | day, commit | result |", "|---|---|---|---:|---|---|", *rows.values()]
    totals = [(what, sum(int(number.replace(",", "")) for line in rows.values()
                         for number in re.findall(rf"(\d[\d,]*) {what}\b", line))) for what in TOTALS]
    told = [f"{number:,} {what}" for what, number in totals if number]
    absent = [part.name for part in PARTS if part.name not in rows]
    notes = ["On " + "; ".join(dict.fromkeys(result["machine"] for result in results.values())) + "."]
    notes += [f"In all {', '.join(told)}."] if told else []
    notes += [f"Not run: {', '.join(absent)}."] if absent else []
    return "\n".join(lines) + "\n\n" + "\n".join(notes)


def write_document(file, results):
    text = file.read_text()
    before = page_part.parts(text)["torture"]
    rows_before = {line.split("|")[1].strip(): line for line in before.splitlines() if line.startswith("| ")}
    file.write_text(page_part.replaced(text, "torture", table(results, rows_before)))


def parse_arguments():
    parser = argparse.ArgumentParser(description="all that is too long for every merge")
    names = [part.name for part in PARTS]
    parser.add_argument("--list", action="store_true", help="the parts, with the minutes that they take")
    parser.add_argument("--only", nargs="+", metavar="PART", choices=names, default=names)
    parser.add_argument("--minutes", type=float, default=60, help="60 is full measure, 6 a tenth (default 60)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the clock")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--document", type=pathlib.Path, help="the file whose table is renewed")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/torture", help="of logs and results")
    options = parser.parse_args()
    if not options.minutes > 0:
        parser.error(f"--minutes {options.minutes}: it must be more than 0")
    return options


def main():
    options = parse_arguments()
    plan = Plan(options.minutes / 60, options.seed, options.jobs)
    parts = [part for part in PARTS if part.name in options.only]
    if options.list:
        for part in parts:
            minutes = part.minutes * (plan.scale if part.scales else 1)
            print(f"{part.name:14} {minutes:6.1f} min{'' if part.scales else ' (does not scale)':18} {part.what}")
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "results.jsonl"
    here, failed = commit(), []
    try:
        for number, part in enumerate(parts, 1):
            print(f"[{number}/{len(parts)}] {part.name}: {part.what}", flush=True)
            result = run_part(part, plan, options.folder, here)
            with open(file, "a", encoding="utf-8") as lines:
                lines.write(json.dumps(result) + "\n")
            failed += [part.name] if result["result"] == "fail" else []
            did = ", ".join(f"{number:,} {what}" for what, number in result["counts"].items())
            print(f"   {result['result']} in {duration(result['seconds'])}: {did} {result['why']}", flush=True)
    except KeyboardInterrupt:
        print(f"\ntorture: interrupted; what is done is in {file}", file=sys.stderr)
        return 130
    finally:
        if options.document and read_results(file):
            write_document(options.document, read_results(file))
    if failed:
        print(f"torture: failed: {', '.join(failed)}; what they said is in {options.folder}/PART.log", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
