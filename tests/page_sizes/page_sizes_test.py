#!/usr/bin/env python3
"""Runs a program under qemu as on a system whose pages have another size, and looks at its calls for memory.

Usage: page_sizes_test.py PAGE_BYTES [NAME=VALUE...] -- EMULATOR... -- PROGRAM [ARGUMENT...]
NAME=VALUE is for the program's environment, not for the emulator's.

qemu tells the program the page's size and maps at multiples of it. But it accepts what such a system refuses, and what
it rounds up. So the program must end well, and also:
  each address that it names is the begin of a page;
  what it protects or advises on is whole pages (the loader maps and unmaps parts of a file's last one);
  no more is resident than 256 MiB, qemu included.
"""
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

RESIDENT_MAX = 256 << 20
NUMBER = r"(0x[0-9a-f]+|\d+|NULL)"
CALL = re.compile(rf"\b(mmap|munmap|mprotect|madvise|mremap)\({NUMBER},{NUMBER}")


def number(text: str) -> int:
    return 0 if text == "NULL" else int(text, 0)


def wrong_calls(trace: str, page: int) -> tuple[int, list[str]]:
    """How many calls there are, and those that a system with such pages refuses or rounds."""
    count = 0
    wrong = []
    for found in CALL.finditer(trace):
        count += 1
        is_whole = number(found[3]) % page == 0 or found[1] not in ("mprotect", "madvise")
        if number(found[2]) % page != 0 or not is_whole:
            wrong.append(found[0] + ")")
    return count, wrong


def main() -> None:
    page = int(sys.argv[1])
    between = [i for i, word in enumerate(sys.argv) if word == "--"][:2]
    environment = sys.argv[2:between[0]]
    emulator = sys.argv[between[0] + 1:between[1]]
    command = sys.argv[between[1] + 1:]
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        emulator += ["-p", str(page), "-strace", "-D", str(trace)]
        for variable in environment:
            emulator += ["-E", variable]
        done = subprocess.run(emulator + command, check=False)
        count, wrong = wrong_calls(trace.read_text(errors="replace"), page)
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    print(f"status {done.returncode}, {count} calls for memory, {resident >> 20} MiB resident")
    if wrong:
        print(f"not of whole pages of {page} bytes: " + ", ".join(wrong[:10]))
    if done.returncode != 0 or count == 0 or wrong or resident > RESIDENT_MAX:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
