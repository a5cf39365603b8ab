"""The outcomes that ashlar's cells have to have: expected.csv, and how it differs from what was seen."""
from __future__ import annotations

import csv
import dataclasses
import io

from cells import Cell, Results
from columns import HERE

EXPECTED = HERE / "expected.csv"
FIELDS = ["component", "level", "fault", "outcome", "lacks", "seen"]


def read() -> Results:
    return from_csv(EXPECTED.read_text())


def write(results: Results) -> None:
    EXPECTED.write_text(to_csv(results))


def from_csv(text: str) -> Results:
    return {(r["component"], r["level"], r["fault"]): Cell(r["outcome"], r["lacks"], r["seen"])
            for r in csv.DictReader(io.StringIO(text))}


def to_csv(results: Results) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([*key, cell.outcome, cell.lacks, cell.seen] for key, cell in results.items())
    return out.getvalue()


def differences(expected: Results, observed: Results) -> list[str]:
    def words(cell: Cell | None) -> str:
        return "no cell" if cell is None else " / ".join(w for w in dataclasses.astuple(cell) if w)
    return [f"{component}, {level}, {fault}: expected {words(expected.get(key))}, is {words(observed.get(key))}"
            for key in dict.fromkeys([*expected, *observed])
            for component, level, fault in [key] if expected.get(key) != observed.get(key)]
