"""One run of malloc_faults.c under one allocator, and the word for what became of its fault."""
from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))
import check_peers  # noqa: E402

from cells import leave_no_core_files, without_settings  # noqa: E402

SECONDS = 10  # A run takes some milliseconds.
DATA_BYTES = 4 << 30  # A run takes some 200 MiB.

# From the worst to the best.
OUTCOMES = {
    "broken": "the program of the test is itself at fault",
    "hung": "no end within the time",
    "damage": "no message; bytes of another owner changed, or an address got two owners",
    "late": "a message or an abort, but such damage came first",
    "died": "another signal, after the fault, without a message or damage before it",
    "visible": "no message; old contents were read, or the next address was as foretold",
    "silent": "no message, no damage",
    "later": "a message or an abort after the fault and before any damage",
    "stopped": "another signal at the faulty call or access, without a message",
    "at once": "a message or an abort at the faulty call or access",
    "harmless": "the request was refused, or old contents and the next address stay hidden",
    "not measured": "the library was not there",
}
RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}
BY_INTENT = {-6, -4, -5}  # SIGABRT, SIGILL, SIGTRAP: an allocator ends the program by these


@dataclasses.dataclass(frozen=True)
class Allocator:
    name: str
    library: str = ""  # empty: the C library
    environment: tuple[tuple[str, str], ...] = ()
    version: str = ""
    is_there: bool = True
    says: str = ""  # how its messages begin; without that, any line and any abort is a message
    reserves: bool = False  # more addresses than the limit of memory; such a run has no limit
    random: bool = False  # two runs of a cell may differ


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    size: int
    level: str


Outcomes = dict[tuple[str, Fault], set[str]]  # by allocator and fault


def load() -> dict:
    return json.loads((HERE / "allocators.json").read_text())


def faults(table: dict) -> list[Fault]:
    named = [("none", table["sizes"]), *((name, row.get("sizes", table["sizes"])) for row in table["rows"]
                                         for name in row["faults"])]
    return [Fault(name, size, level) for name, sizes in named for level in table["levels"] for size in sizes]


def faults_checked(table: dict) -> list[Fault]:
    """Each fault at each size, by turns at one level and the other: all but a few cells are the same at both."""
    names = list(dict.fromkeys(f.name for f in faults(table)))
    levels = table["levels"]
    return [f for f in faults(table)
            if (names.index(f.name) + table["sizes"].index(f.size)) % len(levels) == levels.index(f.level)]


def programs_counted(table: dict) -> list[Fault]:
    """One for each fault and size. What only tells an attacker something is no fault that could be caught."""
    counted = {name for row in table["rows"] if row.get("counts", True) for name in row["faults"]}
    return [f for f in faults(table) if f.name in counted and f.level == table["levels"][-1]]


def ours(table: dict, libraries: pathlib.Path) -> list[Allocator]:
    """Effects: ends the process if a library is missing. A cell of ours is never left out."""
    found = [Allocator(a["name"], str(libraries.resolve() / a["library"]), tuple(a.get("environment", {}).items()),
                       says="ashlar: ", random=a.get("random", False)) for a in table["ours"]]
    for a in found:
        if not pathlib.Path(a.library).is_file():
            sys.exit(f"misuse: no library {a.library}: build the drop-in library, and name its folder by --libraries")
    return found


def peers(table: dict) -> list[Allocator]:
    known = {p["name"]: p for p in check_peers.read_peers()}
    found = []
    for a in table["peers"]:
        peer = known[a["peer"]] if "peer" in a else {
            "libraries": [a["library"]],
            "version": {"package": a["package"]} if "package" in a else
                       {"crate": a["crate"], "version": check_peers.locked_versions()[a["crate"]]}}
        library = check_peers.find_library(peer)
        found.append(Allocator(a["name"], library or "", tuple(a.get("environment", {}).items()),
                               version_of(peer["version"]), library is not None, reserves=a.get("reserves", False)))
        if library is None:
            print(f"misuse: {a['name']} is not measured; remedy: {check_peers.remedy(peer)}", file=sys.stderr)
    return found


def version_of(version: dict) -> str:
    if "crate" in version:
        return f"{version['crate']} {version['version']}"
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", version["package"]], capture_output=True, text=True,
                          check=False)
    return f"{version['package']} {done.stdout}".strip()


def run(allocator: Allocator, fault: Fault, programs: pathlib.Path) -> tuple[str, int | None]:
    """Returns: all that was said, in its order, and the exit code. It is None where the time was over."""
    environment = {**without_settings(), **dict(allocator.environment)}
    if allocator.library:
        environment["LD_PRELOAD"] = allocator.library
    with subprocess.Popen([programs / f"malloc_faults_{fault.level}", fault.name, str(fault.size)], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as child:
        if not allocator.reserves:
            resource.prlimit(child.pid, resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
        try:
            return child.communicate(timeout=SECONDS)[0], child.returncode
        except subprocess.TimeoutExpired:
            child.kill()
            return child.communicate()[0], None


def judge(said: str, code: int | None, says: str = "") -> str:
    """The word for one run. Lines of the program begin with a bar. Every other line is a message. With `says`
    one of them has to begin with it, and an abort alone is no message.
    """
    events = [tuple((line[2:].split(" ", 1) + [""])[:2]) if line.startswith("| ") else ("message", line)
              for line in said.splitlines() if line.strip()]
    labels = [label for label, _ in events]
    if code is not None and code >= 0 and "ended" not in labels and "message" not in labels:
        return "broken"
    if "next" not in labels or "broken" in labels or "message" in labels[:labels.index("next")]:
        return "broken"
    if code is None:
        return "hung"
    if says and not any(label == "message" and text.startswith(says) for label, text in events):
        labels = [label for label in labels if label != "message"]
    elif code in BY_INTENT:
        labels.append("message")
    end = labels.index("back") if "back" in labels else len(labels)
    if "message" in labels[:end]:
        return "at once"
    if "back" not in labels:
        return "stopped"
    if "message" in labels:
        return "late" if "damage" in labels[:labels.index("message")] else "later"
    if "damage" in labels:
        return "damage"
    if code != 0:
        return "died"
    return next((word for word in ("visible", "harmless") if word in labels), "silent")


def offsets(said: str) -> str:
    return next((line for line in said.splitlines() if line.startswith("| offsets ")), "")


def measure(allocator: Allocator, fault: Fault, programs: pathlib.Path) -> str:
    said, code = run(allocator, fault, programs)
    outcome = judge(said, code, allocator.says)
    if outcome == "silent" and offsets(said):
        return "visible" if offsets(said) == offsets(run(allocator, fault, programs)[0]) else "harmless"
    return outcome


def measure_all(allocators: list[Allocator], which: list[Fault], programs: pathlib.Path, rounds: int = 1) -> Outcomes:
    leave_no_core_files()
    jobs = [(a, f) for a in allocators if a.is_there for f in which] * rounds
    found: Outcomes = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (a, f), outcome in zip(jobs, pool.map(lambda job: measure(*job, programs), jobs)):
            found[a.name, f].add(outcome)
    for a in allocators:
        if not a.is_there:
            found.update({(a.name, f): {"not measured"} for f in which})
    return found
