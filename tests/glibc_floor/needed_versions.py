#!/usr/bin/env python3
"""Says which version of glibc shared libraries need at least, and fails where one needs a newer one than it may.

Run: needed_versions.py --objdump OBJDUMP --at-most 2.17 LIBRARY...
"""
import argparse
import pathlib
import re
import subprocess
import sys


def needed(objdump: str, library: pathlib.Path) -> list[tuple[int, ...]]:
    """The versions of glibc's symbols that the library refers to, the newest one last."""
    text = subprocess.run([objdump, "-p", library], check=True, capture_output=True, text=True).stdout
    return sorted({tuple(map(int, found.split("."))) for found in re.findall(r"\bGLIBC_([0-9.]+)$", text, re.M)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--at-most", required=True)
    parser.add_argument("libraries", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    bound = tuple(map(int, options.at_most.split(".")))
    wrong = 0
    for library in options.libraries:
        versions = needed(options.objdump, library)
        if not versions:
            print(f"needed_versions: {library} refers to no symbol of glibc; is it linked with it?", file=sys.stderr)
            return 1
        newest = ".".join(map(str, versions[-1]))
        print(f"{library.name} needs glibc {newest}" + (f", newer than {options.at_most}" if versions[-1] > bound else ""))
        wrong += versions[-1] > bound
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
