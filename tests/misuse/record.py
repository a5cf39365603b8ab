"""The record of what each fault comes to: corpus_expected.csv and malloc_expected.csv have ashlar's cells, which a test
compares. build/results/misuse-malloc.csv has those of the peers, once they were measured here.

A row is an allocator or a component at a size, and has all levels whose cells are the same; a column is a fault.
"""
from __future__ import annotations

import csv
import pathlib

from cells import HERE, RANK, ROOT, Column, Fault, Outcomes, faults

PEERS = ROOT / "build/results/misuse-malloc.csv"


def expected(name: str) -> pathlib.Path:
    return HERE / f"{name}_expected.csv"


def worst_first(outcomes: set[str]) -> list[str]:
    return sorted(outcomes, key=lambda outcome: RANK[outcome.split(" / ")[0]])


def read(*records: pathlib.Path) -> tuple[Outcomes, dict[str, str]]:
    """Returns: the outcomes, and the version of each column."""
    outcomes: Outcomes = {}
    versions: dict[str, str] = {}
    for record in records:
        if record.exists():
            with record.open(newline="") as file:
                for row in csv.DictReader(file):
                    name, size, levels = (row.pop(key) for key in ("name", "size", "level"))
                    versions[name] = row.pop("version")
                    outcomes |= {(name, Fault(fault, int(size), level)): set(cell.split("|"))
                                 for fault, cell in row.items() if cell for level in levels.split()}
    return outcomes, versions


def write(record: pathlib.Path, table: dict, names: list[str], outcomes: Outcomes, versions: dict[str, str]) -> None:
    """Effects: the record has the cells of these columns."""
    columns = list(dict.fromkeys(fault.name for fault in faults(table)))
    rows: dict[tuple, list[str]] = {}
    for name in names:
        for size in table["sizes"]:
            for level in table["levels"]:
                cells = tuple("|".join(worst_first(outcomes.get((name, Fault(fault, size, level)), set())))
                              for fault in columns)
                if any(cells):
                    rows.setdefault((name, versions[name], size, cells), []).append(level)
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "version", "size", "level", *columns])
        writer.writerows([name, version, size, " ".join(levels), *cells]
                         for (name, version, size, cells), levels in rows.items())


def renew(record: pathlib.Path, table: dict, order: list[str], columns: list[Column], observed: Outcomes) -> None:
    """Effects: the rows of these columns are those observed. The others stay, if they are still in the order."""
    outcomes, versions = read(record)
    write(record, table, order, {**outcomes, **observed}, {**versions, **{c.name: c.version for c in columns}})


def differences(recorded: Outcomes, observed: Outcomes) -> list[str]:
    """What is worse than the record, what is better, and what is in one of them only."""
    lines = []
    for key in dict.fromkeys([*recorded, *observed]):
        name, fault = key
        was, now = worst_first(recorded.get(key, set())), worst_first(observed.get(key, set()))
        if now and set(now) <= set(was):
            continue
        ranks = [RANK[cells[0].split(" / ")[0]] for cells in (was, now) if cells]
        direction = ("has no record" if not was else "was not run" if not now else
                     "other" if ranks[0] == ranks[1] else "worse" if ranks[1] < ranks[0] else "better")
        lines.append(f"{name}, {fault.name}, {fault.size} bytes, -{fault.level}: {direction}: recorded "
                     f"{'|'.join(was) or 'nothing'}, is {'|'.join(now) or 'nothing'}")
    return lines
