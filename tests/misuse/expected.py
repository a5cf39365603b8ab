"""The outcomes that ashlar's cells have to have: expected.csv, a row a component at a level, a column a fault; and how it
differs from what was seen. A cell is its outcome, what its message lacks, and what a read saw, joined by |."""
from __future__ import annotations

import csv
import dataclasses
import io

from cells import Cell, Results
from columns import HERE

EXPECTED = HERE / "expected.csv"


def read() -> Results:
    return from_csv(EXPECTED.read_text())


def write(results: Results) -> None:
    EXPECTED.write_text(to_csv(results))


def from_csv(text: str) -> Results:
    return {(r["component"], r["level"], fault): Cell(*r[fault].split("|"))
            for r in csv.DictReader(io.StringIO(text)) for fault in r if fault not in ("component", "level")}


def to_csv(results: Results) -> str:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for (component, level, fault), cell in results.items():
        row = rows.setdefault((component, level), {"component": component, "level": level})
        row[fault] = "|".join(dataclasses.astuple(cell)).rstrip("|")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(next(iter(rows.values()))), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows.values())
    return out.getvalue()


def differences(expected: Results, observed: Results) -> list[str]:
    def words(cell: Cell | None) -> str:
        return "no cell" if cell is None else " / ".join(w for w in dataclasses.astuple(cell) if w)
    return [f"{component}, {level}, {fault}: expected {words(expected.get(key))}, is {words(observed.get(key))}"
            for key in dict.fromkeys([*expected, *observed])
            for component, level, fault in [key] if expected.get(key) != observed.get(key)]
