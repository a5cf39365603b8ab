#!/usr/bin/env python3
"""Compares the machine code of ashlar's pools and arenas, no tool being there, with that of the same sources from which
every word to a tool is gone (the folder `nothing`).

Usage: compare.py COMPILER CHECKOUT WORK_FOLDER [--plant]

--plant puts one instruction into a hook of the real header first: then a difference must be found.
"""
import pathlib
import re
import subprocess
import sys

LEVELS = ("-O2", "-Os")
HEADER = "ashlar/core/memory_tools.hpp"
# Far fewer would mean that the sources do not say what they said.
FUNCTIONS_MIN = 60


def fail(text):
    print(f"compare.py: {text}", file=sys.stderr)
    sys.exit(1)


def planted(checkout, work):
    """A folder with the real header, but for one instruction in what is told of a freed block."""
    text = (checkout / HEADER).read_text()
    leaky, count = re.subn(r"(void tell_freed\([^)]*\) noexcept \{)", r'\1 asm volatile("nop");', text)
    if count != 1:
        fail(f"{HEADER}: tell_freed was not found, so nothing could be planted")
    target = work / "planted" / HEADER
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(leaky)
    return work / "planted"


def code(compiler, level, folders, work, name):
    """Disassembly with relocations, and all symbols with their sizes, of the faces compiled with `folders` first."""
    here = pathlib.Path(__file__).parent
    target = work / f"{name}{level}.o"
    subprocess.run([compiler, "-std=c++20", level, "-fno-asynchronous-unwind-tables", "-w",
                    *(f"-I{folder}" for folder in folders), "-c", here / "faces.cpp", "-o", target], check=True)
    disassembly = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", target], check=True, capture_output=True,
                                 text=True).stdout
    symbols = subprocess.run(["nm", "-S", target], check=True, capture_output=True, text=True).stdout
    return disassembly.split("\n", 3)[3].splitlines() + symbols.splitlines()


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["--plant"]):
        fail(__doc__)
    compiler, checkout, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    real = [planted(checkout, work), checkout] if sys.argv[4:] else [checkout]
    nothing = [pathlib.Path(__file__).parent / "nothing", checkout]
    for level in LEVELS if not sys.argv[4:] else LEVELS[:1]:
        with_hooks = code(compiler, level, real, work, "hooks")
        without = code(compiler, level, nothing, work, "nothing")
        functions = sum(line.endswith(">:") for line in without)
        if functions < FUNCTIONS_MIN:
            fail(f"{level}: {functions} functions compared, {FUNCTIONS_MIN} are expected at least")
        if with_hooks != without:
            first = next((pair for pair in zip(with_hooks, without) if pair[0] != pair[1]), ("(end)", "(end)"))
            fail(f"{compiler} {level}: a hook of {HEADER} left something behind, no tool being there:\n"
                 f"  with the hooks    {first[0].strip()}\n  without           {first[1].strip()}\n"
                 f"  see the two objects in {work}")
        print(f"{compiler} {level}: {functions} functions are the same without hooks")


main()
