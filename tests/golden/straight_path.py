#!/usr/bin/env python3
"""Counts the instructions of a hit in a library's code, for processors that callgrind does not know.

A hit is the line from a function's first instruction to its first return on which no branch with a condition is taken:
what misses branches away from it. Jumps inside of the function are followed.
Run: straight_path.py --objdump OBJDUMP --library LIBRARY --target NAME --golden FILE. FILE has a line for each target and
function: target, function, instructions. Another number than that is a failure.
"""
import argparse
import pathlib
import re
import subprocess
import sys

RETURN = re.compile(r"^((?:repz )?ret[q]?|br\s+%r14|bx\s+lr|(pop|ldm\S*\s.*)\s+\{.*pc\}|ldr(\.w)?\s+pc,)")
# Branches that are always taken.
JUMP = re.compile(r"^(jmp|b|j|jg|br)\s+(?:([0-9a-f]+)\b)?")


def disassembly(*command: str | pathlib.Path) -> str:
    return subprocess.run([*command, "-d", "--no-show-raw-insn"], check=True, capture_output=True, text=True).stdout


def count(objdump: str, library: pathlib.Path, function: str) -> int:
    """The instructions from the function's first one to its first return."""
    return length(disassembly(objdump, f"--disassemble={function}", library), function)


def length(text: str, function: str) -> int:
    """The same of the function's own part of a disassembly."""
    code = [(found[1], found[2].strip()) for found in re.finditer(r"^\s+([0-9a-f]+):\s+(?!\.)(.*)$", text, re.M)]
    places = {address: i for i, (address, _) in enumerate(code)}
    i = 0
    for instructions in range(1, len(code) + 1):
        if i == len(code):
            break
        instruction = code[i][1]
        if RETURN.match(instruction):
            return instructions
        i += 1
        if jump := JUMP.match(instruction):
            if jump[2] not in places:
                raise SystemExit(f"straight_path: {function}: '{instruction}' comes before a return: the hit leaves it")
            i = places[jump[2]]
    raise SystemExit(f"straight_path: there is no code of {function} with a return")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("objdump", "library", "target", "golden"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    golden = [line.split() for line in pathlib.Path(args.golden).read_text().splitlines()
              if line and not line.startswith("#")]
    mine = [(function, int(number)) for target, function, number in golden if target == args.target]
    if not mine:
        print(f"straight_path: {args.golden} has no line for {args.target}", file=sys.stderr)
        return 1
    wrong = 0
    for function, expected in mine:
        counted = count(args.objdump, pathlib.Path(args.library), function)
        print(f"{args.target} {function} {counted}" + ("" if counted == expected else f", golden {expected}"))
        wrong += counted != expected
    if wrong:
        print(f"straight_path: the hit path changed. If that is worth it, change {args.golden}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
