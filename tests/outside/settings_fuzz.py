"""Runs programs of this folder under random settings, legal and not: each behaves as on the system's allocator.

usage: settings_fuzz.py SOURCES LIBRARY SEED RUNS PROGRAM[:NAME]...

SOURCES is the library's folder: every ASHLAR_ name in its sources is a setting. ASHLAR_DEEPBIND and ASHLAR_LIMIT are left out: they may
rightly break a program. tests/fuzz/settings_fuzz.cpp proves what is read; here is what follows from it.
"""
import pathlib
import random
import re
import sys

import outside

LEFT_OUT = {"ASHLAR_DEEPBIND", "ASHLAR_LIMIT"}
NUMBERS = ["0", "1", "-1", "2", "3", "7", "100", "4096", "65536", "1000000", "2147483648", "9223372036854775807"]
WORDS = ["full", "exact", "batch", "never", "always", "system", "json", "text", "continue", "trap", "callback", "abort",
         "keep", "64K", "1M", "3GiB", "512", "USR2", "URG", "64"]
FILES = ["out.txt", "./out", "/dev/null", "/dev/full", "/nowhere/out", "/", "a" * 300, "./" + "a/" * 600, "%p.out"]
ILLEGAL = ["", " ", "-", "on", "1 ", "0x10", "1e3", "-9223372036854775809", "\x01\xff", "K", "%n%s", "1,2", "a" * 5000]
# What the sources compare with; what is not here takes any.
LIKELY = {"STATS": ["batch", "exact"], "CHECK": ["full", "1", "0"], "HARDEN": ["1", "0"], "SAMPLE": ["4K", "64K", "1"],
          "BACKGROUND": ["1"], "CONTROL": ["1", "./socket"], "SAMPLE_SIGNAL": ["USR2", "URG", "64"]}


def names(sources):
    """Returns: the names of all settings, sorted."""
    found = set()
    for file in pathlib.Path(sources).rglob("*.cpp"):
        if not file.name.endswith("_test.cpp"):
            found.update(re.findall(r'"(ASHLAR_[A-Z_]+)"', file.read_text(encoding="utf-8")))
    return sorted(found - LEFT_OUT)


def drawn(draw, known):
    """Returns: one to six settings."""
    settings = {}
    for name in draw.sample(known, draw.randint(1, 6)):
        likely = LIKELY.get(name.removeprefix("ASHLAR_"), NUMBERS + WORDS)
        if name.endswith(("_FILE", "_CONFIG")):
            likely = FILES
        settings[name] = draw.choice(draw.choices([likely, NUMBERS + WORDS + FILES, ILLEGAL], [7, 2, 1])[0])
    return settings


def main(sources, library, seed, runs, *programs):
    known = names(sources)
    assert len(known) > 20, known
    draw = random.Random(int(seed))
    expected = {program: outside.run(program.split(":"), {})[0] for program in programs}
    failed = 0
    for i in range(int(runs)):
        program = programs[i % len(programs)]
        settings = drawn(draw, known)
        got, said = outside.run(program.split(":"), {**settings, "LD_PRELOAD": library})
        if got != expected[program]:
            failed += 1
            print(f"{program} with {settings}: {got}, where the system's allocator has {expected[program]}\n"
                  f"{said.decode(errors='replace')[:2000]}")
    print(f"{int(runs) - failed} of {runs} runs as expected, with {len(known)} settings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
