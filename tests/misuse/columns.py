"""What there is to run, as matrix.json says: a column is a component at a level of its checks."""
from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Column:
    """A component at a level."""
    component: str
    level: str
    title: str
    program: str
    argument: str
    environment: tuple[tuple[str, str], ...] = ()
    pool: str = ""


def load() -> dict:
    return json.loads((HERE / "matrix.json").read_text())


def of_ashlar(matrix: dict) -> list[Column]:
    columns = []
    for table in matrix["tables"]:
        for level in table["levels"]:
            for c in table["components"]:
                if level["name"] not in c.get("levels", [level["name"]]):
                    continue
                columns.append(Column(
                    component=c["name"], level=level["name"], title=c["title"], program=c["program"],
                    argument=c["name"] + level.get("suffix", ""),
                    environment=tuple(level.get("environment", {}).items()), pool=c.get("pool", "")))
    return columns


def missing(columns: list[Column], programs: pathlib.Path) -> list[str]:
    """What is not there to run, each with its remedy."""
    faults = []
    for c in columns:
        if not (programs / c.program).is_file():
            faults.append(f"no program {programs / c.program}: build the target misuse_corpus")
    return sorted(set(faults))


def unlisted(matrix: dict, programs: pathlib.Path) -> list[str]:
    """What the programs have and matrix.json has not, or the other way round."""
    listed: dict[str, set[str]] = {}
    for c in of_ashlar(matrix):
        listed.setdefault(c.program, set()).add(c.argument)
    faults = []
    for program, arguments in listed.items():
        usage = subprocess.run([programs / program], capture_output=True, text=True, check=False).stderr
        for kind, names in (("components", arguments), ("faults", {f["name"] for f in matrix["faults"]})):
            line = re.search(rf"^{kind}:(.*)$", usage, re.MULTILINE)
            has = set(line[1].split()) if line else set()
            if has != names:
                faults.append(f"{program} and matrix.json differ in {kind}: {', '.join(sorted(has ^ names))}")
    return faults
