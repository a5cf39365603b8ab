#!/usr/bin/env python3
"""Runs every fault of the corpus on every component, and says what becomes of it.

  matrix.py --programs DIR --drop-in LIB --check     compares ashlar's outcomes with expected.csv; 1 if one differs
  matrix.py --programs DIR --drop-in LIB --accept    writes them to expected.csv
  matrix.py --check-page PAGE                        1 if the page's tables of ashlar are not those of expected.csv
  matrix.py --write PAGE                             writes them; with --programs and --drop-in the peers' too

What there is to run is in matrix.json: faults, components, levels, peers. A further level of the heap is one more
line there and an --accept. DIR has the corpus' programs (target misuse_corpus; misuse_page builds the peers' too).
"""
from __future__ import annotations

import argparse
import pathlib
import sys

import cells
import columns
import expected
import page

PEER_ROUNDS = 100


class Corpus:
    """The built programs, and what runs on them."""

    def __init__(self, matrix: dict, programs: pathlib.Path | None, drop_in: str) -> None:
        if programs is None:
            sys.exit("matrix: to run the corpus, name its programs' folder by --programs")
        self.matrix = matrix
        self.programs = programs.resolve()
        self.drop_in = str(pathlib.Path(drop_in).resolve())

    def ours(self) -> cells.Results:
        ran = columns.of_ashlar(self.matrix)
        self._require(columns.missing(ran, self.programs, self.drop_in) or columns.unlisted(self.matrix, self.programs))
        return self._run(ran)

    def peers(self) -> list[cells.Results]:
        ran = columns.of_peers(self.matrix)
        self._require(columns.missing(ran, self.programs, self.drop_in)
                      or cells.not_loaded(ran, self.programs, self.drop_in))
        return [self._run(ran) for _ in range(PEER_ROUNDS)]

    def _run(self, ran: list[columns.Column]) -> cells.Results:
        return cells.run_all(ran, self.matrix["faults"], self.programs, self.drop_in)

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
    print(f"matrix: {len(faults)} of {len(observed)} cells differ; where the change is meant: --accept, then "
          "--write docs/misuse.md")
    return 1


def check_page(file: pathlib.Path, matrix: dict) -> int:
    text = file.read_text()
    if text == page.with_our_parts(text, matrix, expected.read()):
        return 0
    print(f"matrix: {file} is not what tests/misuse/expected.csv gives; run tests/misuse/matrix.py --write {file}")
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--drop-in", default="", metavar="LIB")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--accept", action="store_true")
    action.add_argument("--check-page", type=pathlib.Path, metavar="PAGE")
    action.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    matrix = columns.load()

    if options.check_page:
        return check_page(options.check_page, matrix)
    if options.check:
        return check(Corpus(matrix, options.programs, options.drop_in).ours())
    if options.accept:
        expected.write(Corpus(matrix, options.programs, options.drop_in).ours())
        return 0
    text = page.with_our_parts(options.write.read_text(), matrix, expected.read())
    if options.programs is not None:
        text = page.with_peers(text, matrix, Corpus(matrix, options.programs, options.drop_in).peers())
    options.write.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
