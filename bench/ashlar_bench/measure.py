"""Runs one process and says what it took.

Wall time is the runner's; CPU time, faults and switches are the kernel's account of the process and of those it
waited for. Peak RSS of a program is read by GNU time, which starts it from a small process: what the kernel would
tell the runner of its own child includes the runner's size at the moment of the start.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hit_path as hit_path_table

from .allocators import ROOT, UserError, clean_environment, environment_for

TIMEOUT_SECONDS = 300
GROWTH_TIMEOUT_SECONDS = 900  # a hundred million live blocks, where each call may miss every cache
INSTRUCTIONS_TIMEOUT_SECONDS = 1800
GNU_TIME = "/usr/bin/time"


class Failed(Exception):
    """A run that gave no result; the message says how it ended."""


def how_it_ended(status, stderr):
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return None
    last = stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
    return f"ended with {f'signal {-code}' if code < 0 else f'status {code}'}: {last[0]}"


def kill(process):
    """The process and its children: it leads a session of its own. Only while it is not yet waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def limit_of(case):
    return GROWTH_TIMEOUT_SECONDS if "growth" in case.tags else TIMEOUT_SECONDS


def wait(process, started, limit_seconds):
    """(status, rusage); ends the process at the limit. The kernel wakes us, so that no polling is in the time."""
    descriptor = os.pidfd_open(process.pid)
    try:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, started + limit_seconds - time.monotonic()))
        if not ready:
            kill(process)
            os.wait4(process.pid, 0)
            process.returncode = -signal.SIGKILL
            raise Failed(f"not finished after {limit_seconds:g} s")
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return status, used
    finally:
        os.close(descriptor)


def run(command, environment, during=None, limit_seconds=TIMEOUT_SECONDS):
    """(facts, status, stdout, stderr). during(process) is called while it runs: a server's clients."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        try:
            if during:
                during(process)
            status, used = wait(process, started, limit_seconds)
        except BaseException:
            if process.returncode is None:
                kill(process)
                process.wait()
            raise
        wall = time.monotonic() - started
        facts = {"wall_s": round(wall, 6), "user_s": used.ru_utime, "system_s": used.ru_stime,
                 "minor_faults": used.ru_minflt, "major_faults": used.ru_majflt,
                 "voluntary_switches": used.ru_nvcsw, "involuntary_switches": used.ru_nivcsw}
        out.seek(0)
        err.seek(0)
        return facts, status, out.read(), err.read()


KIND_OF_UNIT = {"KiB": "memory", "ratio": "ratio"}
LINE_FIELDS = {"value", "low", "high", "samples", "operations", "peak_rss_kib", "final_rss_kib", "harness_kib",
               "page_tables_kib", "minor_faults", "major_faults"}


def parse_lines(text):
    """The rows that alloc_bench printed: lines of key=value that begin with workload=."""
    rows = []
    for line in text.splitlines():
        if not line.startswith("workload="):
            continue
        pairs = dict(pair.partition("=")[::2] for pair in line.split())
        row = {name: value for name, value in pairs.items() if name in LINE_FIELDS}
        row["row"] = f"{pairs.pop('workload')} {pairs.pop('size')}"
        row["unit"] = pairs.pop("unit")
        row["kind"] = pairs.pop("kind", KIND_OF_UNIT.get(row["unit"], "time"))
        row["fact"] = " ".join(f"{name}={value}" for name, value in pairs.items() if name not in LINE_FIELDS)
        rows.append(row)
    return rows


def workload(bench, case, allocator, quick):
    command = [bench, *(["--quick"] if quick else []), *case.name.split()]
    facts, status, out, err = run(command, environment_for(allocator), limit_seconds=limit_of(case))
    problem = how_it_ended(status, err)
    if problem:
        raise Failed(problem)
    rows = parse_lines(out.decode(errors="replace"))
    if not rows:
        raise Failed("printed no result")
    return [{**facts, **row} for row in rows]


def only_child(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0]) if children else process.pid


def resident_kib(pid):
    found = re.search(r"^Rss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    return int(found.group(1)) if found else None


def program_command(program, work, quick, allocator, report):
    """GNU time is not preloaded, and what it starts is: so the variables are set by env, in between."""
    library = program.preload(allocator.library)
    variables = [f"{name}={value}" for name, value in allocator.environment]
    variables += [f"LD_PRELOAD={library}"] if library else []
    return [GNU_TIME, "-o", report, "-f", "%M", "/usr/bin/env", *variables, *program.command(work, quick)]


def program(case, allocator, quick, work):
    from real_programs import Finished, clean_environment as programs_environment  # the module that the case came from
    prog = case.program
    try:
        prog.before_run(work)
    except (OSError, RuntimeError) as problem:
        raise Failed(f"could not be made ready: {problem}") from None
    driven = at_rest = None

    def drive(process):
        nonlocal driven, at_rest
        driven = prog.drive(work, quick)
        at_rest = resident_kib(only_child(process))
        prog.stop(work)

    with tempfile.NamedTemporaryFile("r", suffix=".rss") as report:
        command = program_command(prog, work, quick, allocator, report.name)
        try:
            facts, status, out, err = run(command, programs_environment(), drive if prog.server else None)
        except (OSError, RuntimeError) as problem:
            raise Failed(str(problem)) from None
        peak = re.findall(r"^\d+$", report.read(), re.M)
    if b"cannot be preloaded" in err:
        raise Failed("the loader did without the library")
    wrong = prog.check(work, Finished(os.waitstatus_to_exitcode(status), driven.output if driven else out, err))
    if wrong:
        raise Failed(wrong)
    if driven:
        facts["wall_s"] = round(driven.seconds, 6)
    facts["peak_rss_kib"] = peak[-1] if peak else ""
    facts["final_rss_kib"] = at_rest if at_rest is not None else ""
    rates = driven.per_second.items() if driven else ()
    rows = [single(case.name, "time", "s", facts["wall_s"]),
            *(single(f"{case.name} {request}", "rate", "requests/s", rate) for request, rate in rates)]
    return [{**facts, "harness_kib": 0, **row} for row in rows]


# ---- counts: untimed runs of their own ----

def single(row, kind, unit, value):
    """A row of one sample."""
    return {"row": row, "kind": kind, "unit": unit, "value": value, "low": value, "high": value, "samples": 1}


def need(tool):
    found = shutil.which(tool)
    if not found:
        raise UserError(f"{tool} is not installed; scripts/setup.sh bench brings it")
    return found


def parse_strace(text):
    """The calls in all, from the last line of `strace -c`."""
    for line in reversed(text.splitlines()):
        words = line.split()
        if words and words[-1] == "total":
            return int(words[3] if len(words) > 3 else words[0])
    return None


def system_calls(bench, case, allocator, quick):
    """Of a whole process, start and end included, and of its threads and children."""
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as report:
        variables = [*allocator.environment, *([("LD_PRELOAD", allocator.library)] if allocator.library else [])]
        command = [need("strace"), "-f", "-c", "-o", report.name,
                   *(part for name, value in variables for part in ("-E", f"{name}={value}")),
                   bench, *(["--quick"] if quick else []), *case.name.split()]
        _, status, _, err = run(command, clean_environment(), limit_seconds=limit_of(case))
        problem = how_it_ended(status, err)
        if problem:
            raise Failed(f"under strace: {problem}")
        calls = parse_strace(report.read())
    if calls is None:
        raise Failed("strace printed no total")
    return [single(case.name, "system_calls", "calls", calls)]


def parse_collected(text):
    found = re.search(r"Collected\s*:\s*(\d+)", text)
    return int(found.group(1)) if found else None


def callgrind(bench, case, allocator, count):
    command = [need("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", bench, "--count", str(count),
               *case.name.split()]
    try:
        done = subprocess.run(command, env=environment_for(allocator), capture_output=True, text=True,
                              timeout=INSTRUCTIONS_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"not finished after {INSTRUCTIONS_TIMEOUT_SECONDS} s under callgrind") from None
    collected = parse_collected(done.stderr)
    if done.returncode != 0 or collected is None:
        raise Failed(f"under callgrind: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return collected


def instructions(bench, case, allocator, _quick, bodies=2):
    """Of one body: runs of N and of 2N bodies differ by N, so start and end cancel."""
    each = (callgrind(bench, case, allocator, 2 * bodies) - callgrind(bench, case, allocator, bodies)) / bodies
    return [single(case.name, "instructions", "instructions", each)]


HIT_PATH = "hit_path"


def hit_path_program(bench):
    """Built beside alloc_bench."""
    return Path(bench).parent / HIT_PATH


def parse_hit_path(text):
    """{row: instructions} of hit_path.py's table."""
    return {f"{HIT_PATH} {function}/{size}": count for size, counts in hit_path_table.parse_table(text).items()
            for function, count in counts.items()}


def hit_path(bench, allocator):
    """Of one hit of each function, at hit_path.py's sizes."""
    need("valgrind")
    command = [sys.executable, str(ROOT / "bench/hit_path.py"), "--program", str(hit_path_program(bench)),
               "--lib", allocator.library]
    environment = {**clean_environment(), **dict(allocator.environment)}
    _, status, out, err = run(command, environment, limit_seconds=INSTRUCTIONS_TIMEOUT_SECONDS)
    problem = how_it_ended(status, err)
    if problem:
        raise Failed(problem)
    counts = parse_hit_path(out.decode(errors="replace"))
    if not counts:
        raise Failed("hit_path.py printed no counts")
    return [single(row, HIT_PATH, "instructions", count) for row, count in counts.items()]
