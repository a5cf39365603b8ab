#!/usr/bin/env python3
"""Counts the instructions of an allocation and a free, by pools and by allocator<T>, without checks and with cheap
ones, in what a compiler makes of pool_calls.cpp: from a function's first instruction to its return, with no branch to a
miss taken.

Usage: pool_calls.py COMPILER CHECKOUT WORK_FOLDER [--golden FILE [--update]]

With --golden, more than the file says is a failure; --update writes the compiler's rows of the file. A compiler or a
version that the file does not know ends with 77.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden"))
import straight_path  # noqa: E402

LEVELS = ("-O2", "-Os")
SKIPPED = 77
HEAD = ["# Instructions of an allocation and a free, return included, counted by tests/pool_calls/pool_calls.py. What adds to",
        "# them fails the test; what is worth its price updates this file: pool_calls.py ... --golden FILE --update",
        "# compiler level pool check allocate free"]
Counts = dict[tuple[str, str, str, str], tuple[int, int]]  # by compiler, level, pool, check


def fail(text: str) -> None:
    sys.exit(f"pool_calls: {text}")


def compiler_name(compiler: str) -> str:
    version = subprocess.run([compiler, "-dumpversion"], check=True, capture_output=True, text=True).stdout
    name = re.sub(r"-\d+$", "", pathlib.Path(compiler).name)
    return f"{name}-{version.split('.')[0].strip()}"


def count(compiler: str, checkout: pathlib.Path, work: pathlib.Path) -> Counts:
    counts: Counts = {}
    for level in LEVELS:
        target = work / f"pool_calls{level}.o"
        subprocess.run([compiler, "-std=c++20", level, "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-w",
                        f"-I{checkout}", "-c", HERE / "pool_calls.cpp", "-o", target], check=True)
        code = dict(re.findall(r"^[0-9a-f]+ <(\w+)>:\n(.*?)(?=^$|\Z)", straight_path.disassembly("objdump", target),
                               re.M | re.S))
        for pool, check in re.findall(r"^(\w+)_(none|cheap)_allocate$", "\n".join(code), re.M):
            counts[compiler_name(compiler), level, pool, check] = tuple(
                straight_path.length(code[name], name) for name in (f"{pool}_{check}_allocate", f"{pool}_{check}_free"))
    if not counts:
        fail("pool_calls.cpp has no functions to count")
    return counts


def read(golden: pathlib.Path) -> Counts:
    rows: Counts = {}
    for number, line in enumerate(golden.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) != 6:
            fail(f"{golden.name}:{number}: wants six words, COMPILER LEVEL POOL CHECK ALLOCATE FREE, not '{line}'")
        rows[fields[0], fields[1], fields[2], fields[3]] = (int(fields[4]), int(fields[5]))
    return rows


def compare(expected: Counts, counts: Counts, compiler: str) -> int:
    if compiler not in {key[0] for key in counts} & {key[0] for key in expected}:
        print(f"pool_calls: no counts of {compiler} to compare with")
        return SKIPPED
    expected = {key: value for key, value in expected.items() if key[0] == compiler}
    longer, shorter = [], []
    for key in dict.fromkeys([*expected, *counts]):
        if key not in expected or key not in counts:
            longer.append(f"{' '.join(key)}: only in {'the counts' if key in counts else 'the file'}")
            continue
        for call, now, limit in zip(("allocate", "free"), counts[key], expected[key]):
            if now != limit:
                (longer if now > limit else shorter).append(f"{' '.join(key)}: {call} {now}, golden {limit}")
    if longer:
        print("A pool's calls became longer:\n  " + "\n  ".join(longer))
        print("If the price is meant, say so in the commit and update the file by --update.")
        return 1
    if shorter:
        print("A pool's calls became shorter (passes; keep the gain by --update):\n  " + "\n  ".join(shorter))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler")
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--golden", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if options.update and not options.golden:
        parser.error("--update wants --golden FILE")
    options.work.mkdir(parents=True, exist_ok=True)
    name = compiler_name(options.compiler)
    counts = count(options.compiler, options.checkout, options.work)
    print(f"{'compiler':12} {'level':5} {'pool':12} {'allocate':>8} {'free':>5}   (none -> cheap)")
    for (_, level, pool, check), cheap in counts.items():
        if check == "cheap":
            none = counts[name, level, pool, "none"]
            print(f"{name:12} {level:5} {pool:12} {none[0]:>3} -> {cheap[0]:<3} {none[1]:>3} -> {cheap[1]:<3}")
    if options.update:
        rows = read(options.golden) if options.golden.is_file() else {}
        rows = {key: value for key, value in rows.items() if key[0] != name} | counts
        options.golden.write_text("\n".join([*HEAD, *(" ".join([*key, *map(str, value)])
                                                      for key, value in sorted(rows.items()))]) + "\n")
        return 0
    return compare(read(options.golden), counts, name) if options.golden else 0


if __name__ == "__main__":
    sys.exit(main())
