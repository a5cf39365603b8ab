#!/usr/bin/env python3
"""Runs every fault of the corpus on every component, and says what becomes of it.

  matrix.py --programs DIR --check     compares ashlar's outcomes with expected.csv; 1 if one differs
  matrix.py --programs DIR --accept    writes them to expected.csv
  matrix.py --write                    makes a page of expected.csv, build/results/misuse-components.md; with --programs
                                       of the peers' outcomes, too

What there is to run is in matrix.json: faults, components, levels, peers. A further level of the heap is one more
line there and an --accept. DIR has the corpus' programs (target misuse_corpus; misuse_page builds the peers' too).
malloc_matrix.py does the same for malloc.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

import cells
import columns
import expected
import page

PEER_ROUNDS = 10


class Corpus:
    """The built programs, and what runs on them."""

    def __init__(self, matrix: dict, programs: pathlib.Path | None) -> None:
        if programs is None:
            sys.exit("matrix: to run the corpus, name its programs' folder by --programs")
        self.matrix = matrix
        self.programs = programs.resolve()

    def ours(self) -> cells.Results:
        ran = columns.of_ashlar(self.matrix)
        self._require(columns.missing(ran, self.programs) or columns.unlisted(self.matrix, self.programs))
        return self._run(ran)

    def peers(self) -> list[cells.Results]:
        ran = columns.of_peers(self.matrix)
        self._require(columns.missing(ran, self.programs))
        return [self._run(ran) for _ in range(PEER_ROUNDS)]

    def _run(self, ran: list[columns.Column]) -> cells.Results:
        return cells.run_all(ran, self.matrix["faults"], self.programs)

    @staticmethod
    def _require(faults: list[str]) -> None:
        if faults:
            sys.exit("\n".join(f"matrix: {f}" for f in faults))


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
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR")
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("--check", "--accept", "--write"):
        action.add_argument(name, action="store_true")
    options = parser.parse_args()
    matrix = columns.load()

    if options.check:
        return check(Corpus(matrix, options.programs).ours())
    if options.accept:
        expected.write(Corpus(matrix, options.programs).ours())
        return 0
    rounds = Corpus(matrix, options.programs).peers() if options.programs is not None else []
    page.PAGE.parent.mkdir(parents=True, exist_ok=True)
    page.PAGE.write_text(page.whole(matrix, expected.read(), rounds))
    print(page.PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
