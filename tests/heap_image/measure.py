"""Measures `ashlar inspect`: seconds, memory and pauses, and leaks beside LeakSanitizer.

Run: measure.py COMMAND DROP_IN [--blocks MILLIONS] [--gib GIB] [--programs N]. Tables on standard output. The folder
of the cores (TMPDIR) needs as much room as the core has.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).with_name("measured.cpp")
PAUSES = 5


def build(folder, name, *options):
    program = os.path.join(folder, name)
    subprocess.run(["g++", "-std=c++20", "-O1", "-g", *options, "-o", program, SOURCE], check=True)
    return program


def write_core(folder, drop_in, words, variables):
    """Returns: the path of the core file of a program that aborts."""
    for old in pathlib.Path(folder).glob("core*"):
        old.unlink()
    subprocess.run(words, cwd=folder, env={**os.environ, "LD_PRELOAD": drop_in, **variables}, check=False,
                   stdout=subprocess.DEVNULL,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
    found = list(pathlib.Path(folder).glob("core*"))
    if not found:
        raise SystemExit("measure: no core file is there: /proc/sys/kernel/core_pattern must be 'core'")
    return found[0]


def run(command, *words):
    """Returns: the report, the wall seconds, and the peak memory in MiB."""
    done = subprocess.run(["/usr/bin/time", "-f", "%e %M", command, *map(str, words)], capture_output=True, text=True,
                          check=False)
    seconds, kib = done.stderr.split()[-2:]
    return json.loads(done.stdout), float(seconds), int(kib) / 1024


def cores(options, folder, program):
    blocks = int(options.blocks * 1e6)
    core = write_core(folder, options.drop_in, [program, "blocks", str(blocks), str(int(options.gib * 1024)), "abort"], {})
    report, seconds, mib = run(options.command, "inspect", "--json", core)
    print(f"core of {core.stat().st_size / 2**30:.1f} GiB, {blocks:,} blocks: {seconds:.1f} s, {mib:,.0f} MiB at the "
          f"peak; {report['in_use']['blocks'] - blocks:+} blocks, {report['unreachable']['blocks']} called lost", flush=True)
    core.unlink()


def pauses(options, program):
    print("\nmemory held, the longest stop of inspect in ms: median, most")
    for mib in (64, 1024, int(options.gib * 1024)):
        with subprocess.Popen([program, "blocks", str(mib * 1000), str(mib), "wait"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "LD_PRELOAD": options.drop_in}) as process:
            process.stdout.readline()
            found = [run(options.command, "inspect", "--json", process.pid)[0]["pause_ms"] for _ in range(PAUSES)]
            process.kill()
        print(f"{mib:>6} MiB {statistics.median(found):>8.1f} {max(found):>8.1f}", flush=True)


def leaks_at_exit(options, folder, program, seed, drop_in):
    """Returns: the bytes and blocks that `ashlar leaks` calls lost."""
    path = os.path.join(folder, "leaks.json")
    subprocess.run([options.command, "leaks", f"--json={path}", "--", program, "lost", str(seed), "exit"], check=True,
                   capture_output=True, env={**os.environ, "LD_PRELOAD": drop_in})
    with open(path, encoding="utf-8") as file:
        process = json.load(file)["processes"][0]
    return process["unreachable_bytes"], process["unreachable_blocks"]


def leaks(options, folder, program):
    checked = build(folder, "checked", "-fsanitize=leak")
    same = 0
    lost = 0
    at_exit = 0
    for seed in range(options.programs):
        said = subprocess.run([checked, "lost", str(seed), "exit"], capture_output=True, text=True, check=False).stderr
        found = re.search(r"SUMMARY: LeakSanitizer: (\d+) byte\(s\) leaked in (\d+) allocation", said)
        core = write_core(folder, options.drop_in, [program, "lost", str(seed), "abort"],
                          {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_GUARD": "0"})
        report = run(options.command, "inspect", "--json", core)[0]["unreachable"]
        lost += report["blocks"]
        wanted = int(found[1]), int(found[2])
        at_exit += sum(leaks_at_exit(options, folder, program, seed, drop_in) == wanted
                       for drop_in in ("", options.drop_in))
        if (report["bytes"], report["blocks"]) == wanted:
            same += 1
        else:
            print(f"seed {seed}: {report['bytes']} bytes in {report['blocks']}, LeakSanitizer {found[1]} in {found[2]}")
    print(f"\n{same} of {options.programs} programs lose the same bytes and blocks as under LeakSanitizer ({lost:,} "
          f"blocks together); so says leaks, {at_exit} of {2 * options.programs} times (by turns on glibc and on "
          "ashlar)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("drop_in")
    parser.add_argument("--blocks", type=float, default=20)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--programs", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, "measured")
        leaks(options, folder, program)
        pauses(options, program)
        cores(options, folder, program)


if __name__ == "__main__":
    main()
