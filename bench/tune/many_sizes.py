#!/usr/bin/env python3
"""A trace as text of one thread whose requests have many sizes: what the tuner's and the checker's time depends on.

Phases follow each other. Each has sizes of its own for half of its requests, and lets the number of live blocks grow or
shrink; who dies is chosen at random. The same arguments give the same trace.
Run: many_sizes.py [--sizes N] [--events N] | ashlar export --from-text -o many.atrace -
     /usr/bin/time ashlar tune many.atrace -o many.hpp      and so on
"""
import argparse
import random
import sys

PHASE_EVENTS = 100_000
MOST_LIVE = 30_000  # so that a machine of some memory has pools for them, which `ashlar tune verify` makes
GRANULE = 16  # sizes are its multiples: as many needs as sizes, with `ashlar tune`'s own alignment


def write_phase(chance: random.Random, sizes: int, live: list[int], free: list[int], time: int, events: int) -> None:
    """Appends a phase's events; `live` and `free` are numbers of blocks, of which `free[-1]` is born next."""
    first = chance.randrange(sizes)
    own = max(1, sizes // 20)
    births = chance.uniform(0.35, 0.65)
    lines = []
    for when in range(time, time + events):
        if not live or (len(live) < MOST_LIVE and chance.random() < births):
            block = free.pop()
            if not free:
                free.append(block + 1)
            favoured = chance.random() < 0.5
            size = (first + int(chance.random() * own)) % sizes if favoured else int(chance.random() * sizes)
            live.append(block)
            lines.append(f"{when} 1 malloc {4096 + GRANULE * block:#x} {GRANULE * (size + 1)}")
        else:
            at = int(chance.random() * len(live))
            block, live[at] = live[at], live[-1]
            live.pop()
            free.append(block)
            lines.append(f"{when} 1 free {4096 + GRANULE * block:#x}")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, default=20_000, help="distinct sizes (default: %(default)s)")
    parser.add_argument("--events", type=int, default=10_000_000, help="births and deaths (default: %(default)s)")
    arguments = parser.parse_args()
    chance = random.Random(1)
    live: list[int] = []
    free = [0]  # its first is the first number that no block had; the others died
    print("ashlar-trace-text 1\nheader ticks_per_second 1000000000")
    for time in range(0, arguments.events, PHASE_EVENTS):
        write_phase(chance, arguments.sizes, live, free, time, min(PHASE_EVENTS, arguments.events - time))


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit("many_sizes.py: nobody reads on")
