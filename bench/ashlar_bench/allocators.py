"""Which allocators there are, where their libraries lie, and the environment they are run in."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS_FILE = ROOT / "bench/peers/peers.json"
OURS = "ashlar"
BASE = "glibc"
# Variables that tune an allocator would make it another one.
TUNING = ("MALLOC_", "MIMALLOC_", "TCMALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "ASHLAR_", "TBB_", "RPMALLOC_",
          "SNMALLOC_", "SCUDO_", "JEMALLOC_")


class UserError(Exception):
    """What the user has to put right; the message names the remedy."""


@dataclass(frozen=True)
class Allocator:
    name: str
    library: str = ""  # what to preload; empty: the C library's own malloc
    version: str = ""
    environment: tuple = ()  # (variable, value) pairs it needs


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(TUNING)}


def environment_for(allocator):
    chosen = clean_environment()
    chosen.update(allocator.environment)
    if allocator.library:
        chosen["LD_PRELOAD"] = allocator.library
    return chosen


def loads(library):
    """True when the loader takes the library; it only warns when it does not."""
    done = subprocess.run(["/bin/true"], env=environment_for(Allocator("", library)), capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode == 0 and "cannot be preloaded" not in done.stderr


def package_version(package):
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True,
                              check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def version_text(version):
    if "package" in version:
        return package_version(version["package"])
    brings = f"{version['brings']}, " if "brings" in version else ""
    return f"{brings}{version['crate']} {version['version']}" if "crate" in version else ""


def remedy(peer):
    return "make peers" if "crate" in peer.get("version", {}) else "scripts/setup.sh bench"


def read_peers(path=PEERS_FILE):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise UserError(f"{path.name} cannot be read: {problem}") from None


def parse_given(pairs):
    """{name: path} of --lib NAME=PATH."""
    given = {}
    for each in pairs:
        name, equals, path = each.partition("=")
        if not (name and equals and path):
            raise UserError(f"--lib wants NAME=PATH, not '{each}'")
        if not Path(path).is_file():
            raise UserError(f"--lib {name}={path}: no such file")
        given[name] = str(Path(path).resolve())
    return given


def find_library(peer):
    """The first that the loader takes; "" for the C library itself; None when there is none. Names with a slash are
    relative to the project's root; the loader looks up the others."""
    paths = [str(ROOT / name) if "/" in name else name for name in peer["libraries"]]
    return next((path for path in paths if loads(path)), None) if paths else ""


def ours_beside(bench):
    """Our library of the build that has this benchmark program."""
    return Path(bench).resolve().parent.parent / "ashlar/libashlar-malloc.so"


def find(ours, wanted, given, peers, say):
    """The allocators to measure, in table order. One that is absent is left out with a message, or, asked for by
    name, an error."""
    known = {peer["name"]: peer for peer in peers}
    names = [*known, OURS, *(name for name in given if name not in known and name != OURS)]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise UserError(f"unknown allocator {', '.join(unknown)}; known: {', '.join(names)}, or add --lib NAME=PATH")
    found = []
    for name in names:
        if wanted and name not in wanted:
            continue
        peer = known.get(name, {"version": {}})
        if name in given:
            peer = {**peer, "libraries": [given[name]]}
            how, version = "give another file", f"{Path(given[name]).name}, by --lib"
        elif name == OURS:
            peer["libraries"] = [str(ours)]
            how, version = "make build", "this checkout"
        else:
            how, version = remedy(peer), version_text(peer["version"])
        library = find_library(peer)
        if library is not None:
            found.append(Allocator(name, library, version, tuple(peer.get("environment", {}).items())))
        elif name in wanted or name in given:
            raise UserError(f"{name}: no library that the loader takes; {how}")
        else:
            say(f"{name} is not there, so it is left out; {how} brings it")
    if not found:
        raise UserError("no allocator to measure")
    return found
