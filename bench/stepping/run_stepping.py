#!/usr/bin/env python3
"""What malloc and free do among threads, under each allocator: atomic operations, cache lines, futex calls, instructions.

Runs call_steps (main.cpp, which tells the workloads) with each allocator preloaded. Everything is counted, nothing is
timed, so a busy machine disturbs it little; threads interleave by chance, so two runs differ by some tenths. A run of all
takes 20 minutes.
"""
import argparse
import csv
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ashlar_bench import allocators  # noqa: E402
from ashlar_bench.allocators import OURS, ROOT, UserError  # noqa: E402

WORKLOADS = ("apart", "swap", "handoff")
SECONDS = 300


def measure(program, library, workload, threads, pairs):
    """Returns: the numbers of one run by name; None when it failed, which is said."""
    # A stepped call takes a thousand times its time, so ashlar's looks, two a second, would come after each few calls.
    command = ["env", "ASHLAR_PURGE_DELAY_MS=-1", f"LD_PRELOAD={library}", program, workload, str(threads), str(pairs)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        print(f"run_stepping: {workload} with {library} took more than {SECONDS} s", file=sys.stderr)
        return None
    if done.returncode != 0 or "cannot be preloaded" in done.stderr:
        print(f"run_stepping: {workload} with {library}: {done.stderr.strip()}", file=sys.stderr)
        return None
    words = dict(word.split("=") for word in done.stdout.split())
    return {name: int(value) for name, value in words.items() if name != "workload"}


def table(rows, threads):
    """Returns: a table, its head first: a pair's instructions with the first number of threads, and for 1,000 pairs with each
    other one atomic operations / cache lines that move."""
    lines = [["workload", "allocator", f"instructions, {threads[0]}", *(f"{t} threads" for t in threads[1:])]]
    for (workload, name), (first, *others) in rows.items():
        texts = ["-" if first is None else f"{first['instructions'] / first['pairs']:.0f}"]
        texts += ["-" if c is None else "/".join(f"{c[key] * 1000 / c['pairs']:.0f}" for key in ("locked", "moved_lines"))
                  for c in others]
        lines.append([workload, name, *texts])
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bench/stepping/call_steps"))
    parser.add_argument("--pairs", type=int, default=4000, help="of malloc and free, in each run (4000)")
    parser.add_argument("--threads", default="1,8,32", help="comma-separated, at most 64 (1,8,32)")
    parser.add_argument("--only", help="comma-separated names of allocators; all that are found when absent")
    parser.add_argument("--lib", action="append", default=[], metavar="NAME=FILE", help="a further library to preload")
    parser.add_argument("--csv", type=Path, help="write the table there")
    options = parser.parse_args()
    if not Path(options.program).exists():
        sys.exit(f"run_stepping: no {options.program}: cmake --build --preset release --target call_steps "
                 "(Debian: apt-get install libcapstone-dev, then cmake --preset release)")
    threads = [int(t) for t in options.threads.split(",")]
    given = allocators.parse_given(options.lib)
    found = allocators.find(ROOT / "build/release/ashlar/libashlar-malloc.so", options.only.split(",") if options.only else [],
                            given, allocators.read_peers(), lambda message: print(f"run_stepping: {message}", file=sys.stderr))
    found.sort(key=lambda each: each.name != OURS)  # ours first
    rows = {}
    for workload in WORKLOADS:
        for each in found:
            rows[workload, each.name] = [measure(options.program, each.library, workload, t, max(options.pairs, 50 * t))
                                    for t in threads]
            print(*table({(workload, each.name): rows[workload, each.name]}, threads)[1], sep=" | ", flush=True)
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table(rows, threads))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nrun_stepping: interrupted")
    except UserError as problem:
        sys.exit(f"run_stepping: {problem}")
