"""The record of what each fault of malloc_faults.c comes to, and the tables of results/misuse-malloc.md made of it.

tests/misuse/malloc_expected.csv has ashlar's cells, which a test compares. build/results/misuse-malloc.csv has those of
the peers, once they were measured here; where they were not, the page keeps what it says of them.
"""
from __future__ import annotations

import csv

from malloc_cells import OUTCOMES, RANK, ROOT, Allocator, Fault, Outcomes, programs_counted

RECORD = ROOT / "tests/misuse/malloc_expected.csv"
PEERS = ROOT / "build/results/misuse-malloc.csv"


def worst_first(outcomes: set[str]) -> list[str]:
    return sorted(outcomes, key=RANK.__getitem__)


def read(table: dict) -> tuple[Outcomes, dict[str, str]]:
    """Returns: the outcomes, and the version of each allocator."""
    outcomes: Outcomes = {}
    versions: dict[str, str] = {}
    for record in (RECORD, PEERS):
        if record.exists():
            with record.open(newline="") as file:
                for row in csv.DictReader(file):
                    versions[row["allocator"]] = row["version"]
                    for size in (size for size in table["sizes"] if row[str(size)]):
                        for level in row["level"].split():
                            outcomes[row["allocator"], Fault(row["fault"], size, level)] = set(row[str(size)].split("|"))
    return outcomes, versions


def write(table: dict, outcomes: Outcomes, versions: dict[str, str]) -> None:
    """A row has all levels whose cells are the same."""
    rows: dict[tuple, list[str]] = {}
    for allocator, name, level in dict.fromkeys((a, f.name, f.level) for a, f in outcomes):
        cells = tuple("|".join(worst_first(outcomes.get((allocator, Fault(name, size, level)), set())))
                      for size in table["sizes"])
        rows.setdefault((allocator, name, cells), []).append(level)
    for record, order in ((RECORD, [a["name"] for a in table["ours"]]), (PEERS, [a["name"] for a in table["peers"]])):
        record.parent.mkdir(parents=True, exist_ok=True)
        with record.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["allocator", "version", "fault", "level", *table["sizes"]])
            for allocator, name, cells in sorted((r for r in rows if r[0] in order), key=lambda r: order.index(r[0])):
                writer.writerow([allocator, versions[allocator], name, " ".join(rows[allocator, name, cells]), *cells])


def renew(table: dict, allocators: list[Allocator], observed: Outcomes) -> None:
    """Effects: the rows of these allocators are those observed. The others stay, if they are still listed."""
    outcomes, versions = read(table)
    listed = {a["name"] for a in [*table["ours"], *table["peers"]]} - {a.name for a in allocators}
    kept = {key: cell for key, cell in outcomes.items() if key[0] in listed}
    write(table, {**kept, **observed}, {**versions, **{a.name: a.version for a in allocators}})


def differences(recorded: Outcomes, observed: Outcomes) -> list[str]:
    """What is worse than the record, what is better, and what is in one of them only."""
    lines = []
    for key in dict.fromkeys([*recorded, *observed]):
        name, fault = key
        was, now = recorded.get(key, set()), observed.get(key, set())
        if now and now <= was:
            continue
        if not was or not now:
            direction = "has no record" if not was else "was not run"
        else:
            direction = "worse" if RANK[worst_first(now)[0]] < RANK[worst_first(was)[0]] else "better"
        lines.append(f"{name}, {fault.name}, {fault.size} bytes, -{fault.level}: {direction}: recorded "
                     f"{'|'.join(worst_first(was)) or 'nothing'}, is {'|'.join(worst_first(now)) or 'nothing'}")
    return lines


# ---- the table ----------------------------------------------------------------------------------

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
    counts = {row[0]: int(row[1].split()[0]) for row in page[2:] if row[0] in allocators and row[0] not in measured}
    counts |= {a: sum(outcomes[a, f] <= CAUGHT for f in programs) for a in allocators
               if all(outcomes.get((a, f), {"not measured"}) != {"not measured"} for f in programs)}
    ranked = sorted(counts.items(), key=lambda item: (-item[1], allocators.index(item[0])))
    return ["|allocator|caught|", "|---|---:|", *(f"|{a}|{n} of {len(programs)}|" for a, n in ranked)]


def words_lines() -> list[str]:
    return ["|word|meaning|", "|---|---|",
            *(f"|{EMPHASIS.get(o, o)}|{meaning}|" for o, meaning in OUTCOMES.items() if o != "broken")]


def versions_lines(peers: list[str], versions: dict[str, str], page: list[list[str]]) -> list[str]:
    known = dict(page[2:]) | versions
    return ["|allocator|version|", "|---|---|", *(f"|{name}|{known.get(name, '')}|" for name in peers)]
