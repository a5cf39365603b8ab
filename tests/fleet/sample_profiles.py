#!/usr/bin/env python3
"""Profiles of made-up runs, no two alike, by way of `ashlar export --from-text` and `tune profile`.

Run: sample_profiles.py ASHLAR FOLDER COUNT [EVENTS]      makes FOLDER/0001.aprof ... of so many events each (400)
"""
import concurrent.futures
import os
import random
import subprocess
import sys
from pathlib import Path

LARGEST = 1 << 20


def text_trace(seed: int, events: int) -> str:
    """A run that prefers sizes of its own, so that every run adds something to what they have in common."""
    chance = random.Random(seed)
    preferred = [int(2 ** chance.uniform(0, LARGEST.bit_length())) for _ in range(8)]
    lines = ["ashlar-trace-text 1", "header program /bin/sample", "header ticks_per_second 1000000"]
    alive: list[int] = []
    for time in range(1, events + 1):
        if alive and chance.random() < 0.45:
            lines.append(f"{time} 1 free {alive.pop(chance.randrange(len(alive))):#x}")
            continue
        size = chance.choice(preferred) if chance.random() < 0.7 else int(2 ** chance.uniform(0, LARGEST.bit_length()))
        address = time * 2 * LARGEST
        lines.append(f"{time} 1 aligned {address:#x} {size} align=64" if chance.random() < 0.05 else
                     f"{time} 1 malloc {address:#x} {size}")
        alive.append(address)
    return "\n".join(lines) + "\n"


def make(ashlar: str, file: Path, seed: int, events: int) -> Path:
    trace = file.with_suffix(".atrace")
    for command, text in (([ashlar, "export", "--from-text", "-o", trace, "-"], text_trace(seed, events)),
                          ([ashlar, "tune", "profile", "-o", file, trace], "")):
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"sample_profiles: ashlar {command[1]}: {done.stderr}")
    trace.unlink()
    return file


def sample_profiles(ashlar: str, folder: Path, count: int, events: int = 400) -> list[Path]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda seed: make(ashlar, folder / f"{seed:04}.aprof", seed, events), range(1, count + 1)))


if __name__ == "__main__":
    sample_profiles(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
