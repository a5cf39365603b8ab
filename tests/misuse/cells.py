"""One cell of the matrix: a child that misuses, and what is to be said of it."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import resource
import subprocess
import sys

from columns import HERE, Column

FAULTS_OF_ASHLAR = HERE.parent.parent / "ashlar/core/fault.hpp"
TIMEOUT_SECONDS = 20
MESSAGE = re.compile(r"^ashlar: [^\n(]+\((0x[0-9a-f]+)\): ([^\n]*)$", re.MULTILINE)
SETTINGS = ("ASHLAR_", "MALLOC_", "GLIBC_TUNABLES", "SCUDO_", "MIMALLOC_", "TCMALLOC_", "LD_PRELOAD")

# From the worst to the best; the words of expected.csv.
OUTCOMES = {
    "broken": "the corpus itself is at fault",
    "hung": "no end within the time",
    "damage": ("no message, and another owner's bytes changed, one address got two owners, or the allocator's own data "
               "broke"),
    "reported late": "a message, but such damage came first",
    "died": "a signal, no message and no damage before it",
    "silent": "no message; no damage was seen",
    "reported": "a message before any damage",
    "harmless": "the misuse does what its caller meant, or nothing",
    "n/a": "the component has no such call or policy",
}


@dataclasses.dataclass(frozen=True)
class Run:
    """What a child did. `code` is negative for a signal, None where the time was over."""
    out: str
    err: str
    code: int | None


@dataclasses.dataclass(frozen=True)
class Cell:
    outcome: str
    lacks: str = ""  # what the message does not say, joined by +
    seen: str = ""   # what a read saw


def sentences() -> dict[str, str]:
    """What ashlar's messages say, by kind: from where they are."""
    describe = FAULTS_OF_ASHLAR.read_text().partition(" describe(")[2].partition("\n}")[0]
    found = dict(re.findall(r'case fault_kind::(\w+):\s*return "([^"]*)";', describe))
    if not found:
        sys.exit(f"matrix: no sentences in {FAULTS_OF_ASHLAR}")
    return found


SENTENCES = sentences()


def without_settings() -> dict[str, str]:
    """Returns: the caller's environment without its settings of any allocator."""
    return {k: v for k, v in os.environ.items() if not k.startswith(SETTINGS)}


def leave_no_core_files() -> None:
    """The children inherit it. A preexec_fn would keep Python from its quick way to start them."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(column: Column, fault: str, programs: pathlib.Path) -> Run:
    environment = {**without_settings(), **dict(column.environment)}
    leave_no_core_files()
    with subprocess.Popen([programs / column.program, column.argument, fault], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace") as child:
        try:
            out, err = child.communicate(timeout=TIMEOUT_SECONDS)
            return Run(out, err, child.returncode)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            return Run(out, err, None)


def addresses(text: str) -> set[int]:
    return {int(a, 16) for a in re.findall(r"0x([0-9a-f]+)", text)}


def our_message(done: Run, fault: dict, pool: str) -> tuple[bool, str]:
    """Whether ashlar reported, and what its best line does not say of: what, address, pool, block size."""
    misused = addresses("\n".join(line for line in done.out.splitlines() if line.startswith("misused: ")))
    shortest: list[str] | None = None
    for address, rest in MESSAGE.findall(done.err):
        kinds = [kind for kind, sentence in SENTENCES.items() if sentence in rest]
        if not kinds:
            continue  # a setting that is ignored, say
        lacks = []
        if kinds[0] not in fault["says"]:
            lacks.append("what")
        # A leak has no address, and says how many blocks there are instead.
        if not (re.search(r", blocks \d+", rest) if kinds[0] == "leak" else int(address, 16) in misused):
            lacks.append("address")
        if pool and f"pool '{pool}'" not in rest:
            lacks.append("pool")
        # A foreign address is in no block.
        if kinds[0] != "foreign_pointer" and not re.search(r", block size \d+", rest):
            lacks.append("block size")
        if shortest is None or len(lacks) < len(shortest):
            shortest = lacks
    return shortest is not None, "+".join(shortest or [])


def classify(done: Run, fault: dict, pool: str) -> Cell:
    """The judgement of one child."""
    lines = done.out.splitlines()
    said = {label: [line[len(label) + 2:] for line in lines if line.startswith(label + ": ")]
            for label in ("misused", "damage", "seen", "harmless", "not applicable", "broken")}
    if said["not applicable"]:
        return Cell("n/a")
    if done.code is None:
        return Cell("hung")
    ended = "ended: " in lines
    if said["broken"] or not said["misused"] or (done.code == 0 and not ended):
        return Cell("broken")
    reported, lacks = our_message(done, fault, pool)
    seen = said["seen"][0] if said["seen"] and ended else ""
    if reported:
        return Cell("reported late" if said["damage"] else "reported", lacks, seen)
    if said["damage"]:
        return Cell("damage", "", seen)
    if done.code < 0:
        return Cell("died")
    if done.code != 0:
        return Cell("broken")
    return Cell("harmless" if said["harmless"] else "silent", "", seen)


Results = dict[tuple[str, str, str], Cell]  # by component, level, fault


def run_all(columns: list[Column], faults: list[dict], programs: pathlib.Path) -> Results:
    jobs = [(c, f) for c in columns for f in faults]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        cells = pool.map(lambda job: classify(run(job[0], job[1]["name"], programs), job[1], job[0].pool), jobs)
        return {(c.component, c.level, f["name"]): cell for (c, f), cell in zip(jobs, cells)}
