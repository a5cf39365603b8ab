#!/usr/bin/env python3
"""Runs every fault of the corpus on every component, and says what becomes of it.

  matrix.py --programs DIR --check     compares ashlar's outcomes with expected.csv; 1 if one differs
  matrix.py --programs DIR --accept    writes them to expected.csv

What there is to run is in matrix.json: faults, components, levels. A further level of the heap is one more line there
and an --accept. DIR has the corpus' programs (target misuse_corpus). malloc_matrix.py does the same for malloc.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

import cells
import columns
import expected


def observe(matrix: dict, programs: pathlib.Path) -> cells.Results:
    ran = columns.of_ashlar(matrix)
    if faults := columns.missing(ran, programs) or columns.unlisted(matrix, programs):
        sys.exit("\n".join(f"matrix: {f}" for f in faults))
    return cells.run_all(ran, matrix["faults"], programs)


def check(observed: cells.Results) -> int:
    faults = expected.differences(expected.read(), observed)
    if not faults:
        print(f"{len(observed)} cells as expected")
        return 0
    print("\n".join(faults))
    print(f"matrix: {len(faults)} of {len(observed)} cells differ; where the change is meant: --accept")
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR")
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("--check", "--accept"):
        action.add_argument(name, action="store_true")
    options = parser.parse_args()
    observed = observe(columns.load(), options.programs.resolve())
    if options.check:
        return check(observed)
    expected.write(observed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
