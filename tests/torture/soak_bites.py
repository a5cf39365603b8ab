#!/usr/bin/env python3
"""soak.py finds what grows, and accuses nothing that does not: series made up here, then the soak itself with a leak.

usage: soak_bites.py SOAK     the program that soak.cpp is
"""
import csv
import random
import subprocess
import sys

import soak

CYCLES, MINUTES = 120, 10
noise = random.Random(7)


def series(floor_rise=0.0, peak_rise=0.0, leak=0.0, warm_up=0.0):
    """A soak of ten minutes with the scatter of a real one; rises are in KiB a minute."""
    rows = []
    for n in range(CYCLES):
        t = MINUTES * (n + 1) / CYCLES
        young = warm_up * max(0, 1 - n / (CYCLES / 4))
        live = noise.gauss(9_200, 20)
        rows.append({"seconds": t * 60, "sessions": n, "live_kib": int(live),
                     "in_use_kib": int(live + 200 + leak * t + noise.gauss(0, 4)),
                     "floor_kib": int(40_000 + floor_rise * t - young + noise.gauss(0, 2_200)),
                     "peak_kib": int(130_000 + peak_rise * t - young + noise.gauss(0, 2_000))})
    return rows


def expect(what, faults, kinds):
    found = {fault.split(":")[0] for fault in faults}
    print(f"{what}: {', '.join(sorted(found)) or 'flat'}")
    if found != set(kinds):
        sys.exit(f"soak_bites: {what}: it should find {', '.join(kinds) or 'nothing'}: {faults}")


def run(soak_program, *planted):
    command = [soak_program, "--cycles", "8", "--operations", "10000", "--quiet-seconds", "0.02", *planted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return soak.Column(list(csv.DictReader(done.stdout.splitlines())))


def main():
    expect("nothing grows", soak.Column(series()).faults(), [])
    expect("it grows while it is young", soak.Column(series(warm_up=20_000)).faults(), [])
    expect("a leak of 1 KiB a second", soak.Column(series(leak=60)).faults(), ["leak"])
    expect("the floor rises by 2 % a minute", soak.Column(series(floor_rise=800)).faults(), ["floor"])
    expect("the peaks rise by 1 % a minute", soak.Column(series(peak_rise=1_300)).faults(), ["peak"])
    try:
        soak.Column(series()[:5])
        sys.exit("soak_bites: it judges five cycles")
    except ValueError as problem:
        print(problem)

    # And the program: what is planted is measured.
    clean = run(sys.argv[1])
    leak = run(sys.argv[1], "--leak", str(4 << 20))
    pin = run(sys.argv[1], "--pin", "3")
    planted = 4 * 1024 * 60  # KiB a minute
    for what, column in (("clean", clean), ("leak", leak), ("pin", pin)):
        print(f"{what}: in use and nobody's {column.unowned_slope[0]:+.0f} KiB a minute"
              f" ({column.unowned_slope[1]:+.0f} to {column.unowned_slope[2]:+.0f}), {column.cycles} cycles")
    if abs(clean.unowned_slope[0]) > planted / 10:
        sys.exit("soak_bites: without a leak it measures one")
    if not 0.7 * planted < leak.unowned_slope[0] < 1.5 * planted:
        sys.exit(f"soak_bites: of the planted leak of {planted} KiB a minute it measures {leak.unowned_slope[0]:.0f}")
    if pin.unowned_slope[1] < 2 * abs(clean.unowned_slope[0]) or not pin.faults()[0].startswith("leak:"):
        sys.exit("soak_bites: it does not notice that every third small block stays")


if __name__ == "__main__":
    main()
