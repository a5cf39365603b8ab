"""The tables of results/misuse-malloc.md, made of the record. A peer that has none there keeps what the page says of it."""
from __future__ import annotations

import pathlib
import sys

import record
from cells import OUTCOMES, ROOT, Fault, Outcomes, programs_counted
from record import worst_first

sys.path.insert(0, str(ROOT / "scripts"))
import page_part  # noqa: E402

PAGE = ROOT / "results/misuse-malloc.md"
EMPHASIS = {"hung": "**hung**", "damage": "**damage**", "died": "**died**", "late": "*late*"}


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
    text = EMPHASIS.get(worst, worst)
    return text + "".join(f"; {where}: {EMPHASIS.get(o, o)}" for o, where in better.items())


def table_lines(table: dict, outcomes: Outcomes, allocators: list[str], page: list[list[str]]) -> list[str]:
    """`page`: the cells of the table as it is now, in which a peer that has no record keeps its own."""
    measured = {allocator for allocator, _ in outcomes}
    told = {(row[0], allocator): text for row in page for allocator, text in zip(page[0], row)}
    lines = ["|fault|" + "|".join(allocators) + "|", "|---|" + "---|" * len(allocators)]
    for row in table["rows"]:
        cells = (cell(table, outcomes, a, row) if a in measured else told.get((row["title"], a), "not measured")
                 for a in allocators)
        lines.append("|" + "|".join([row["title"], *cells]) + "|")
    return lines


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
            *(f"|{EMPHASIS.get(o, o)}|{meaning}|" for o, meaning in OUTCOMES.items() if o not in ("broken", "n/a"))]


def versions_lines(peers: list[str], versions: dict[str, str], page: list[list[str]]) -> list[str]:
    known = dict(page[2:]) | versions
    return ["|allocator|version|", "|---|---|", *(f"|{name}|{known.get(name, '')}|" for name in peers)]


def from_record(text: str, table: dict, expected: pathlib.Path) -> str:
    """The page with the tables that the record gives."""
    outcomes, versions = record.read(expected, record.PEERS)
    ours, peers = ([a["name"] for a in table[kind] if a.get("in_page", True)] for kind in ("ours", "peers"))
    text = page_part.replaced(text, "malloc words", "\n".join(words_lines()))
    every = [a["name"] for kind in ("ours", "peers") for a in table[kind]]
    for name, lines in (
            ("malloc", lambda now: table_lines(table, outcomes, ours + peers, now)),
            ("malloc caught", lambda now: caught_lines(table, outcomes, every, now)),
            ("malloc versions", lambda now: versions_lines(peers, versions, now))):
        now = [line.strip("|").split("|") for line in page_part.parts(text)[name].splitlines()]
        text = page_part.replaced(text, name, "\n".join(lines(now)))
    return text


def is_of(table: dict, expected: pathlib.Path) -> bool:
    text = PAGE.read_text()
    return text == from_record(text, table, expected)


def renew(table: dict, expected: pathlib.Path) -> None:
    PAGE.write_text(from_record(PAGE.read_text(), table, expected))
