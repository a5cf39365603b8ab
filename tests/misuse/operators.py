#!/usr/bin/env python3
"""operator new and delete: right pairs pass in silence. Full checks tell wrong ones with both calls, the hardened edition
with the second one.

usage: operators.py PROGRAM LIBRARY HARDENED_LIBRARY      PROGRAM is tests/misuse/operators.cpp, built
"""
import os
import re
import subprocess
import sys

program, library, hardened = sys.argv[1:]

FAMILY = "the block was allocated by another family of calls"
SIZE = "the size or alignment is not that of the block"
EXPECTED = {
    "correct": None,
    "new_free": ("operator new", "free", FAMILY, 40),
    "new_array_free": ("operator new[]", "free", FAMILY, 40),
    "malloc_delete": ("malloc", "operator delete", FAMILY, 40),
    "malloc_delete_array": ("malloc", "operator delete[]", FAMILY, 40),
    "new_delete_array": ("operator new", "operator delete[]", FAMILY, 40),
    "new_array_delete": ("operator new[]", "operator delete", FAMILY, 40),
    "new_realloc": ("operator new", "realloc", FAMILY, 40),
    "size_too_large": ("operator new", "operator delete", SIZE, 40),
    "size_too_small": ("operator new", "operator delete", SIZE, 40),
    "array_size": ("operator new[]", "operator delete[]", SIZE, 400),
    "aligned_size": ("operator new", "operator delete", SIZE, 64),
}
FULL = {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_STACK_DEPTH": "0"}
EDITIONS = (  # library, settings, whether both calls are told
    (library, {**FULL, "ASHLAR_CHECK_GUARD": "0"}, True),
    (library, {**FULL, "ASHLAR_CHECK_GUARD": "1"}, True),
    (hardened, {"ASHLAR_CHECK_GUARD": "0"}, False),
    (library, {"ASHLAR_HARDEN": "1", "ASHLAR_CHECK_GUARD": "0"}, False))


def run(preloaded, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASHLAR_")}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60,
                          env={**environment, **variables, "LD_PRELOAD": preloaded})


def fault(mode, preloaded, variables, tells_both):
    done = run(preloaded, mode, **variables)
    if EXPECTED[mode] is None:
        held = (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    else:
        made, freed, sentence, size = EXPECTED[mode]
        # The hardened edition's word may have been overwritten: nothing tells the size then.
        line = rf"ashlar: {re.escape(freed)}\(0x[0-9a-f]+\): {re.escape(sentence)}"
        line += rf", block size {size}\n" if tells_both else r"(, block size \d+)?\n"
        if tells_both:
            line = (rf".*\nashlar: found by {re.escape(freed)} in .*\n"
                    rf"ashlar: allocated by {re.escape(made)} in .*\n{line}")
        held = done.returncode == -6 and re.fullmatch(line, done.stderr)
    return "" if held else f"{mode}, {variables}: exit status {done.returncode}\n{done.stdout}{done.stderr}"


modes = run(library).stderr.split()
if set(modes) != set(EXPECTED):
    sys.exit(f"operators: the program has the modes {modes}")
faults = [f for mode in modes for edition in EDITIONS if (f := fault(mode, *edition))]
done = run(library, "correct", ASHLAR_CHECK_GUARD="1")  # alone, they do not tell the forms apart, and so accuse nobody
if done.returncode != 0 or done.stderr != "":
    faults.append(f"correct, without full checks: exit status {done.returncode}\n{done.stderr}")
if faults:
    sys.exit("operators: " + "\n".join(faults))
print(f"operators: {len(modes)} uses, with and without guarded blocks, and hardened")
