#!/usr/bin/env python3
"""Compares the machine code of ashlar's pools and arenas, no tool and no recorder being there, with that of the same
sources from which every word to one is gone (the folder `nothing`).

Usage: compare.py COMPILER CHECKOUT WORK_FOLDER [--plant memory_tools|recording]

--plant puts one instruction into a hook of that header first: then a difference must be found.
"""
import pathlib
import re
import subprocess
import sys

LEVELS = ("-O2", "-Os")
# What a component calls, and one function of each in which something can be planted.
HOOKS = {"memory_tools": "tell_freed", "recording": "record_given"}
# Far fewer would mean that the sources do not say what they said.
FUNCTIONS_MIN = 60


def fail(text):
    print(f"compare.py: {text}", file=sys.stderr)
    sys.exit(1)


def header_of(name):
    return f"ashlar/core/{name}.hpp"


def planted(name, checkout, work):
    """A folder with the real header, but for one instruction in what is told of a freed block."""
    text = (checkout / header_of(name)).read_text()
    leaky, count = re.subn(rf"(void {HOOKS[name]}\([^)]*\) noexcept \{{)", r'\1 asm volatile("nop");', text)
    if count != 1:
        fail(f"{header_of(name)}: {HOOKS[name]} was not found, so nothing could be planted")
    target = work / "planted" / header_of(name)
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
    plant = sys.argv[5] if len(sys.argv) == 6 and sys.argv[4] == "--plant" else None
    if len(sys.argv) != (6 if plant else 4) or plant not in (None, *HOOKS):
        fail(__doc__)
    compiler, checkout, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    real = [planted(plant, checkout, work), checkout] if plant else [checkout]
    hooks = " or ".join(header_of(name) for name in ([plant] if plant else HOOKS))
    nothing = [pathlib.Path(__file__).parent / "nothing", checkout]
    for level in LEVELS if not plant else LEVELS[:1]:
        with_hooks = code(compiler, level, real, work, "hooks")
        without = code(compiler, level, nothing, work, "nothing")
        functions = sum(line.endswith(">:") for line in without)
        if functions < FUNCTIONS_MIN:
            fail(f"{level}: {functions} functions compared, {FUNCTIONS_MIN} are expected at least")
        if with_hooks != without:
            first = next((pair for pair in zip(with_hooks, without) if pair[0] != pair[1]), ("(end)", "(end)"))
            fail(f"{compiler} {level}: a hook of {hooks} left something behind, where nobody listens:\n"
                 f"  with the hooks    {first[0].strip()}\n  without           {first[1].strip()}\n"
                 f"  see the two objects in {work}")
        print(f"{compiler} {level}: {functions} functions are the same without hooks")


main()
