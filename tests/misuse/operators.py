#!/usr/bin/env python3
"""Full checks on operator new and delete: right pairs pass in silence, wrong ones are told with both calls.

usage: operators.py PROGRAM LIBRARY      PROGRAM is tests/misuse/operators.cpp, built
"""
import os
import subprocess
import sys

program, library = sys.argv[1:]

FAMILY = "the block was allocated by another family of calls, block size"
SIZE = "the size or alignment is not that of the block, block size"
EXPECTED = {
    "correct": None,
    "new_free": ("operator new", "free", f"{FAMILY} 40"),
    "new_array_free": ("operator new[]", "free", f"{FAMILY} 40"),
    "malloc_delete": ("malloc", "operator delete", f"{FAMILY} 40"),
    "malloc_delete_array": ("malloc", "operator delete[]", f"{FAMILY} 40"),
    "new_delete_array": ("operator new", "operator delete[]", f"{FAMILY} 40"),
    "new_array_delete": ("operator new[]", "operator delete", f"{FAMILY} 40"),
    "new_realloc": ("operator new", "realloc", f"{FAMILY} 40"),
    "size_too_large": ("operator new", "operator delete", f"{SIZE} 40"),
    "size_too_small": ("operator new", "operator delete", f"{SIZE} 40"),
    "array_size": ("operator new[]", "operator delete[]", f"{SIZE} 400"),
    "aligned_size": ("operator new", "operator delete", f"{SIZE} 64"),
}


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASHLAR_")}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60,
                          env={**environment, **variables, "LD_PRELOAD": library})


def fault(mode, guard):
    done = run(mode, ASHLAR_CHECK="full", ASHLAR_CHECK_GUARD=guard, ASHLAR_CHECK_STACK_DEPTH="0")
    if EXPECTED[mode] is None:
        held = done.returncode == 0 and done.stdout == "ended\n" and done.stderr == ""
    else:
        made, freed, sentence = EXPECTED[mode]
        lines = done.stderr.splitlines()
        held = (done.returncode == -6 and len(lines) == 4
                and lines[1].startswith(f"ashlar: found by {freed} in ")
                and lines[2].startswith(f"ashlar: allocated by {made} in ")
                and lines[3].startswith(f"ashlar: {freed}(0x") and lines[3].endswith(sentence))
    return "" if held else f"{mode}, one of {guard} guarded: exit status {done.returncode}\n{done.stdout}{done.stderr}"


modes = run().stdout.split()
if set(modes) != set(EXPECTED):
    sys.exit(f"operators: the program has the modes {modes}")
faults = [f for mode in modes for guard in ("0", "1") if (f := fault(mode, guard))]
done = run("correct", ASHLAR_CHECK_GUARD="1")  # alone, they do not tell the forms apart, and so accuse nobody
if done.returncode != 0 or done.stderr != "":
    faults.append(f"correct, without full checks: exit status {done.returncode}\n{done.stderr}")
if faults:
    sys.exit("operators: " + "\n".join(faults))
print(f"operators: {len(modes)} uses, each with and without guarded blocks")
