#!/usr/bin/env python3
"""What every process runs stands together in the drop-in library's code (docs/decisions/0002).

Usage: text_order.py LIBRARY SCRIPT PROGRAM... LIBRARY's symbols are needed; PROGRAM allocates once or more. Ends with a
non-zero status when callgrind sees PROGRAM run a function of LIBRARY that is not in the section .text.every_process, when
a pattern of SCRIPT, the linker's, fits no function, or when the section has more than MOST bytes.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST = 64 * 1024  # what one page fault may bring in


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    library, script, *program = sys.argv[1:]
    begin, size = (int(n, 16) for n in re.search(r" \.text\.every_process +PROGBITS +(\w+) \w+ (\w+)",
                                                 output_of("readelf", "-SW", library)).groups())
    symbols = [line.split() for line in output_of("nm", "--defined-only", library).splitlines()]
    inside = {name for at, _, name in symbols if begin <= int(at, 16) < begin + size}
    outside = {name for _, kind, name in symbols if kind in "tTW"} - inside
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder, "profile")
        subprocess.run(["valgrind", "--quiet", "--tool=callgrind", "--compress-strings=no", "--demangle=no",
                        f"--callgrind-out-file={profile}", *program],
                       check=True, capture_output=True, env=os.environ | {"LD_PRELOAD": library})
        run = set(re.findall(r"^fn=([^'\n]+)", profile.read_text(errors="replace"), re.MULTILINE))
    if "malloc" not in run:
        raise SystemExit(f"text_order: {program[0]} does not allocate")
    patterns = re.findall(r"\.text[*.][^\s)]+(?=[\s)])(?!\s*:)", pathlib.Path(script).read_text())
    wrong = [f"{name} is run by every process: it wants a pattern in {script}" for name in sorted(run & outside)]
    wrong += [f"{pattern} fits no function" for pattern in patterns
              if not any(fnmatch.fnmatchcase(f".text.{name}", pattern) for name in inside)]
    if size > MOST:
        wrong.append(f"{size} bytes, and {MOST} are allowed")
    if wrong:
        raise SystemExit("\n".join(f"text_order: {line}" for line in wrong))
    print(f"text_order: {size} bytes, {MOST} are allowed")


main()
