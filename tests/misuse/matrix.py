#!/usr/bin/env python3
"""Runs each fault on each component of ashlar (corpus), or under each allocator by LD_PRELOAD (malloc).

  matrix.py corpus --programs DIR --check                    1 if a cell of ashlar is not the recorded one, worse or better
  matrix.py corpus --programs DIR --accept                   records the cells
  matrix.py malloc --programs DIR --libraries DIR --check    the same; and 1 if the page is not what the record gives
  matrix.py malloc --programs DIR --libraries DIR --accept   records the cells of ashlar, and renews the page
  matrix.py malloc --programs DIR --accept-peers             records the cells of the peers, and renews the page

What there is to run is in corpus.json and malloc.json: a further level, edition or peer is one line there, and an --accept.
The page is results/misuse-malloc.md, with its cells in a .csv (page.py); the records are *_expected.csv (record.py).
DIR are the folders of the programs (targets misuse_corpus, misuse_malloc_programs) and of the drop-in library. An
allocator that chooses at random needs --rounds N: each cell is run N times, and the record has every outcome that was
seen. A check passes with any of them.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

import cells
import page
import record


def broken(observed: cells.Outcomes) -> list[str]:
    """What is wrong with the programs, not with what they run on."""
    lines = [f"{name}, {fault.name}, {fault.size} bytes, -{fault.level}: the program itself is at fault"
             for (name, fault), outcomes in observed.items() if "broken" in outcomes]
    return lines + [f"{name}: without a fault {fault.size} bytes, -{fault.level}: {'|'.join(outcomes)}"
                    for (name, fault), outcomes in observed.items()
                    if fault.name == "none" and not outcomes <= {"silent", "not measured"}]


def measured_again(columns: list[cells.Column], programs: pathlib.Path, recorded: cells.Outcomes,
                   observed: cells.Outcomes) -> cells.Outcomes:
    """Of an allocator that chooses at random, a cell that differs is wrong only if it differs `tries` times more."""
    tries = 5
    by_name = {c.name: c for c in columns if c.random}
    for key in [k for k in observed if k[0] in by_name and not observed[k] <= recorded.get(k, set())]:
        for _ in range(tries):
            now = cells.measure_all([by_name[key[0]]], [key[1]], programs, 1)
            if now[key] <= recorded.get(key, set()):
                observed = {**observed, **now}
                break
    return observed


def check(name: str, table: dict, checked: set[cells.Fault], observed: cells.Outcomes) -> int:
    recorded = {key: cell for key, cell in record.read(record.expected(name))[0].items() if key[1] in checked}
    lines = record.differences(recorded, observed)
    if lines:
        lines.append(f"{len(lines)} of {len(observed)} cells differ; where the change is meant: --accept (make misuse)")
    if name == "malloc" and not page.is_of(table, record.expected(name)):
        lines.append(f"{page.PAGE.name} is not what the record gives: make misuse")
    print("\n".join(f"misuse: {line}" for line in lines) or f"{len(observed)} cells as recorded")
    return 1 if lines else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("corpus", "malloc"))
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--libraries", type=pathlib.Path, default=pathlib.Path(), metavar="DIR")
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("--check", "--accept", "--accept-peers"):
        action.add_argument(name, action="store_true")
    parser.add_argument("--rounds", type=int, default=1, metavar="N")
    parser.add_argument("--only", action="append", metavar="ALLOCATOR", help="of those to accept, this one")
    parser.add_argument("--all", action="store_true", help="check each fault and size at each level, not at one by turns")
    options = parser.parse_args()

    table = cells.load(options.table)
    columns = cells.peers(table) if options.accept_peers else cells.ours(table, options.libraries)
    order = [c.name for c in columns]
    if options.only and not options.check:
        columns = [c for c in columns if c.name in options.only]
    which = cells.faults_checked(table) if options.check and not options.all else cells.faults(table)
    programs = options.programs.resolve()
    observed = cells.measure_all(columns, which, programs, options.rounds)
    if lines := broken(observed):
        sys.exit("\n".join(f"misuse: {line}" for line in lines))
    if options.check:
        recorded = record.read(record.expected(options.table))[0]
        return check(options.table, table, set(which), measured_again(columns, programs, recorded, observed))
    record.renew(record.PEERS if options.accept_peers else record.expected(options.table), table, order, columns, observed)
    if options.table == "malloc":
        page.renew(table, record.expected(options.table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
