"""results/misuse-malloc.csv, a cell for each fault and allocator, and the tables of results/misuse-malloc.md, made of the
record. A peer that has none there keeps what these two say of it."""
from __future__ import annotations

import csv
import io
import pathlib
import sys

import record
from cells import OUTCOMES, ROOT, Fault, Outcomes, programs_counted
from record import worst_first

sys.path.insert(0, str(ROOT / "scripts"))
import page_part  # noqa: E402

PAGE = ROOT / "results/misuse-malloc.md"
CELLS = ROOT / "results/misuse-malloc.csv"


def size_word(size: int) -> str:
    return str(size) if size < 1024 else f"{size >> 10}K" if size < 1 << 20 else f"{size >> 20}M"


def bands(sizes: list[int], chosen: list[int]) -> str:
    """The chosen sizes as stretches of neighbours: 16-64, 4M."""
    stretches: list[list[int]] = []
    for i, size in enumerate(sizes):
        if size in chosen:
            if stretches and sizes[i - 1] == stretches[-1][-1]:
                stretches[-1].append(size)
            else:
                stretches.append([size])
    return ", ".join(size_word(s[0]) if len(s) == 1 else f"{size_word(s[0])}–{size_word(s[-1])}" for s in stretches)


def cell(table: dict, outcomes: Outcomes, allocator: str, row: dict) -> str:
    """The worst of all faults, levels and runs; then the sizes where it is better, and the word there."""
    by_size = {}
    names = row["faults"]
    for size in row.get("sizes", table["sizes"]):
        seen = set().union(*(outcomes.get((allocator, Fault(name, size, level)), {"not measured"})
                             for name in names for level in table["levels"]))
        by_size[size] = worst_first(seen)[0]
    worst = worst_first(set(by_size.values()))[0]
    better = {}
    for outcome in worst_first(set(by_size.values()) - {worst}):
        better[outcome] = bands(table["sizes"], [s for s, o in by_size.items() if o == outcome])
    return worst + "".join(f"; {where}: {outcome}" for outcome, where in better.items())


def cells_text(table: dict, outcomes: Outcomes, allocators: list[str], now: str) -> str:
    """`now`: the cells as they are, of which a peer that has no record keeps its own."""
    measured = {allocator for allocator, _ in outcomes}
    old = list(csv.reader(io.StringIO(now)))
    told = {(row[0], allocator): text for row in old for allocator, text in zip(old[0], row)}
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["fault", *allocators])
    for row in table["rows"]:
        writer.writerow([row["title"], *(
            cell(table, outcomes, a, row) if a in measured else told.get((row["title"], a), "not measured")
            for a in allocators)])
    return file.getvalue()


CAUGHT = {"late", "died", "later", "stopped", "at once", "harmless"}  # or without effect


def caught_lines(table: dict, outcomes: Outcomes, allocators: list[str], page: list[list[str]]) -> list[str]:
    """How many programs each allocator caught, in every run. One of which a program was not measured is left out."""
    programs = programs_counted(table)
    measured = {allocator for allocator, _ in outcomes}
    counts = {row[0]: int(row[1]) for row in page[2:] if row[0] in allocators and row[0] not in measured}
    counts |= {a: sum(outcomes[a, f] <= CAUGHT for f in programs) for a in allocators
               if all(outcomes.get((a, f), {"not measured"}) != {"not measured"} for f in programs)}
    ranked = sorted(counts.items(), key=lambda item: (-item[1], allocators.index(item[0])))
    return [f"|allocator|caught of {len(programs)}|", "|---|---:|", *(f"|{a}|{n}|" for a, n in ranked)]


def words_lines() -> list[str]:
    return ["|word|meaning|", "|---|---|",
            *(f"|{o}|{meaning}|" for o, meaning in OUTCOMES.items() if o not in ("broken", "n/a"))]


def versions_lines(peers: list[str], versions: dict[str, str], page: list[list[str]]) -> list[str]:
    known = dict(page[2:]) | versions
    return ["|allocator|version|", "|---|---|", *(f"|{name}|{known.get(name, '')}|" for name in peers)]


def from_record(table: dict, expected: pathlib.Path) -> dict[pathlib.Path, str]:
    """The page and the cells that the record gives."""
    outcomes, versions = record.read(expected, record.PEERS)
    ours, peers = ([a["name"] for a in table[kind] if a.get("in_page", True)] for kind in ("ours", "peers"))
    text = page_part.replaced(PAGE.read_text(), "malloc words", "\n".join(words_lines()))
    every = [a["name"] for kind in ("ours", "peers") for a in table[kind]]
    for name, lines in (("malloc caught", lambda now: caught_lines(table, outcomes, every, now)),
                        ("malloc versions", lambda now: versions_lines(peers, versions, now))):
        now = [line.strip("|").split("|") for line in page_part.parts(text)[name].splitlines()]
        text = page_part.replaced(text, name, "\n".join(lines(now)))
    return {PAGE: text, CELLS: cells_text(table, outcomes, ours + peers, CELLS.read_text())}


def is_of(table: dict, expected: pathlib.Path) -> bool:
    return all(file.read_text() == text for file, text in from_record(table, expected).items())


def renew(table: dict, expected: pathlib.Path) -> None:
    for file, text in from_record(table, expected).items():
        file.write_text(text)
