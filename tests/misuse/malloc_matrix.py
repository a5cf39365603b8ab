#!/usr/bin/env python3
"""Runs each fault of malloc_faults.c under each allocator of allocators.json, by LD_PRELOAD.

  malloc_matrix.py --programs DIR --libraries DIR --check    1 if a cell of ashlar is not the recorded one, worse or
                                                             better, or if the page is not what the record gives
  malloc_matrix.py --programs DIR --libraries DIR --accept   records the cells of ashlar, and renews the page
  malloc_matrix.py --programs DIR --accept-peers             records the cells of the peers, and renews the page

The page is results/misuse-malloc.md (its record: malloc_record.py). DIR are the folders of the programs
malloc_faults_O0 and malloc_faults_O2, and of the drop-in library. A further edition of ashlar or a further peer is one
line in allocators.json. An allocator that chooses at random needs --rounds N: each cell is run N times, and the record has
every outcome that was seen. A check passes with any of them.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

import malloc_cells
import malloc_record

PAGE = malloc_cells.ROOT / "results/misuse-malloc.md"


def part(page: str, name: str) -> list[str]:
    """The lines between `<!-- matrix: name -->` and `<!-- end -->`."""
    begin, end = f"<!-- matrix: {name} -->\n", "<!-- end -->"
    _, mark, rest = page.partition(begin)
    if not mark or end not in rest:
        sys.exit(f"matrix: the page has no part '{begin.strip()}' ... '{end}'")
    return rest.partition(end)[0].splitlines()


def replace_part(page: str, name: str, lines: list[str]) -> str:
    """The page with other lines there."""
    begin = f"<!-- matrix: {name} -->\n"
    old = "".join(line + "\n" for line in part(page, name))
    return page.replace(begin + old, begin + "\n".join(lines) + "\n", 1)


def page_from_record(text: str, table: dict) -> str:
    outcomes, versions = malloc_record.read(table)
    ours, peers = ([a["name"] for a in table[kind] if a.get("in_page", True)] for kind in ("ours", "peers"))
    text = replace_part(text, "malloc words", malloc_record.words_lines())
    every = [a["name"] for kind in ("ours", "peers") for a in table[kind]]
    for name, lines in (
            ("malloc", lambda now: malloc_record.table_lines(table, outcomes, ours + peers, now)),
            ("malloc caught", lambda now: malloc_record.caught_lines(table, outcomes, every, now)),
            ("malloc versions", lambda now: malloc_record.versions_lines(peers, versions, now))):
        now = [line.strip("|").split("|") for line in part(text, name)]
        text = replace_part(text, name, lines(now))
    return text


def broken(observed: malloc_cells.Outcomes) -> list[str]:
    """What is wrong with the programs, not with an allocator."""
    lines = [f"{name}, {fault.name}, {fault.size} bytes, -{fault.level}: the program itself is at fault"
             for (name, fault), outcomes in observed.items() if "broken" in outcomes]
    return lines + [f"{name}: without a fault {fault.size} bytes, -{fault.level}: {'|'.join(outcomes)}"
                    for (name, fault), outcomes in observed.items()
                    if fault.name == "none" and not outcomes <= {"silent", "not measured"}]


def measured_again(allocators: list[malloc_cells.Allocator], programs: pathlib.Path,
                   recorded: malloc_cells.Outcomes, observed: malloc_cells.Outcomes) -> malloc_cells.Outcomes:
    """Of an allocator that chooses at random, a cell that differs is wrong only if it differs `tries` times more."""
    tries = 5
    by_name = {a.name: a for a in allocators if a.random}
    for key in [k for k in observed if k[0] in by_name and not observed[k] <= recorded.get(k, set())]:
        for _ in range(tries):
            now = malloc_cells.measure_all([by_name[key[0]]], [key[1]], programs, 1)
            if now[key] <= recorded.get(key, set()):
                observed = {**observed, **now}
                break
    return observed


def check(table: dict, checked: set[malloc_cells.Fault], observed: malloc_cells.Outcomes) -> int:
    names = {a["name"] for a in table["ours"]}
    recorded = {key: cell for key, cell in malloc_record.read(table)[0].items()
                if key[0] in names and key[1] in checked}
    lines = malloc_record.differences(recorded, observed)
    if lines:
        lines.append(f"{len(lines)} of {len(observed)} cells differ; where the change is meant: make misuse")
    text = PAGE.read_text()
    if text != page_from_record(text, table):
        lines.append(f"{PAGE.name} is not what the record gives: make misuse")
    print("\n".join(f"misuse: {line}" for line in lines) or f"{len(observed)} cells as recorded")
    return 1 if lines else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--libraries", type=pathlib.Path, default=pathlib.Path(), metavar="DIR")
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("--check", "--accept", "--accept-peers"):
        action.add_argument(name, action="store_true")
    parser.add_argument("--rounds", type=int, default=1, metavar="N")
    parser.add_argument("--only", action="append", metavar="ALLOCATOR", help="of those to accept, this one")
    parser.add_argument("--all", action="store_true", help="check each fault and size at each level, not at one by turns")
    options = parser.parse_args()

    table = malloc_cells.load()
    allocators = malloc_cells.peers(table) if options.accept_peers else malloc_cells.ours(table, options.libraries)
    if options.only and not options.check:
        allocators = [a for a in allocators if a.name in options.only]
    by_turns = options.check and not options.all
    which = malloc_cells.faults_checked(table) if by_turns else malloc_cells.faults(table)
    observed = malloc_cells.measure_all(allocators, which, options.programs.resolve(), options.rounds)
    if lines := broken(observed):
        sys.exit("\n".join(f"misuse: {line}" for line in lines))
    if options.check:
        recorded = malloc_record.read(table)[0]
        return check(table, set(which), measured_again(allocators, options.programs.resolve(), recorded, observed))
    malloc_record.renew(table, allocators, observed)
    PAGE.write_text(page_from_record(PAGE.read_text(), table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
