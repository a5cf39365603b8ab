"""Runs a static program in each edition of the drop-in library: it prints "as expected", and nothing crashes.

usage: editions.py PROGRAM [faults]

faults: the program frees a block twice in a constructor, which is reported, with a stack where there is one, and the
process goes on.
"""
import os
import subprocess
import sys
import tempfile

GUARDED = {"ASHLAR_CHECK_GUARD": "1"}
EDITIONS = {
    "default": {},
    "full": {"ASHLAR_CHECK": "full"},
    "full, all guarded": {"ASHLAR_CHECK": "full", **GUARDED},
    "all guarded": GUARDED,
    "hardened": {"ASHLAR_HARDEN": "1"},
    "hardened, all guarded": {"ASHLAR_HARDEN": "1", **GUARDED},
    "samples": {"ASHLAR_SAMPLE": "1", "ASHLAR_SAMPLE_FILE": "samples.pb"},
    "samples, all guarded": {"ASHLAR_SAMPLE": "1", "ASHLAR_SAMPLE_GUARD": "1"},
    "background": {"ASHLAR_BACKGROUND": "1"},
}
GOES_ON = {"ASHLAR_FAULT": "continue", "FAULTS": "1"}
CHECKED = [name for name in EDITIONS if "full" in name]
ATTEMPTS = 2  # where the program lies is chance


def run(program, extra):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([program], env={**os.environ, **extra}, cwd=folder, capture_output=True, text=True,
                              timeout=20, check=False)


def main(program, mode=None):
    failed = 0
    for name in CHECKED if mode == "faults" else EDITIONS:
        extra = {**EDITIONS[name], **(GOES_ON if mode == "faults" else {})}
        for _ in range(ATTEMPTS):
            got = run(program, extra)
            right = got.returncode == 0 and "as expected" in got.stdout
            right = right and ("double free" in got.stderr if mode == "faults" else not got.stderr)
            if not right:
                print(f"{name}: status {got.returncode}, {got.stdout!r}, {got.stderr!r}")
                failed += 1
                break
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
