#!/usr/bin/env python3
"""Says for every peer in peers.json whether it is there and whether it really takes over.

A small C++ program (probe.cpp) is run under each: its malloc family must come from the peer's library, its
C++ operators from there or from the C++ library, whose operators call malloc; then threads, fork and the
Python interpreter. Exit status: 0 when all is well, 1 when a peer fails or is missing.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ashlar_bench.allocators import Allocator, environment_for, find_library, read_peers, remedy  # noqa: E402

PYTHON = "/usr/bin/python3"  # Debian's, not one that a version manager put in front of it

# Without these a program would mix two allocators. Others, which few programs call, may come from the C
# library; they are named, because to free what they return ends in a crash or worse.
REQUIRED = ("malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign",
            "malloc_usable_size")
C_LIBRARY, CXX_LIBRARY = "libc.so.6", "libstdc++.so.6"
SECONDS = 120  # for one run of the probe; it takes one on a quiet machine


def run(command, library, environment):
    """Runs a command with the library preloaded (none when empty). Returns: status, output, errors."""
    variables = environment_for(Allocator("", library, environment=tuple(environment.items())))
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, "", f"not finished after {SECONDS} s"
    return done.returncode, done.stdout, done.stderr


def wrong_symbols(peer, library, output):
    """Returns: what is wrong with where the functions come from, and what is only worth telling."""
    own = Path(library).name if library else C_LIBRARY
    origin = dict(line.split("\t") for line in output.splitlines())
    wrong, notes = [], []
    for symbol, path in origin.items():
        name = Path(path).name
        if name == own or (symbol.startswith("_Z") and name == CXX_LIBRARY):
            continue
        (wrong if symbol in REQUIRED or symbol.startswith("_Z") else notes).append(f"{symbol} comes from {name}")
    missing = [symbol for symbol in REQUIRED if symbol not in origin]
    return wrong + [f"the probe does not tell of {symbol}" for symbol in missing], notes


def check(peer, library, probe):
    """Returns: what is wrong, and what is only worth telling, as lists of texts."""
    environment = peer.get("environment", {})
    wrong, notes = [], []
    status, output, errors = run([probe, "symbols"], library, environment)
    if status != 0:
        wrong.append(f"probe symbols: {reason(status, errors)}")
    else:
        wrong, notes = wrong_symbols(peer, library, output)
    for what in ("threads", "fork"):
        status, _, errors = run([probe, what], library, environment)
        if status != 0:
            wrong.append(f"probe {what}: {reason(status, errors)}")
    program = "import json, threading; print(len(json.dumps([str(i) for i in range(100000)])))"
    status, output, errors = run([PYTHON, "-c", program], library,
                                 {"PYTHONMALLOC": "malloc"} | environment)
    if status != 0 or output.strip() != "888890":
        wrong.append(f"python3 -c: {reason(status, errors) if status else f'printed {output.strip()!r}'}")
    return wrong, notes


def reason(status, errors):
    last = (errors.strip().splitlines() or ["no message"])[-1]
    return f"{last} ({f'signal {-status}' if status < -1 else f'status {status}'})"


def locked_versions():
    """Returns: crate -> version, as Cargo.lock pins them."""
    text = (HERE / "Cargo.lock").read_text(encoding="utf-8")
    return dict(re.findall(r'^name = "([^"]+)"\nversion = "([^"]+)"', text, re.M))


def wrong_versions(peers):
    """Returns: the crates whose version in peers.json is not that of Cargo.lock."""
    locked = locked_versions()
    return [f"{peer['name']}: peers.json says {peer['version']['crate']} {peer['version']['version']}, Cargo.lock "
            f"{locked.get(peer['version']['crate'], 'nothing')}: write that into peers.json"
            for peer in peers if "crate" in peer["version"]
            and locked.get(peer["version"]["crate"]) != peer["version"]["version"]]


def build_probe(folder):
    compiler = shutil.which("g++")
    if compiler is None:
        sys.exit("check_peers: no g++ to build the probe with; run: scripts/setup.sh peers")
    probe = str(Path(folder) / "probe")
    subprocess.run([compiler, "-std=c++20", "-O1", "-fno-builtin", "-pthread", str(HERE / "probe.cpp"), "-o", probe],
                   check=True)
    return probe


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="NAME", help="only these (default: all)")
    parser.add_argument("--present", action="store_true", help="a peer that is missing is no failure")
    options = parser.parse_args()
    peers = read_peers()
    unknown = [name for name in options.peers if name not in [peer["name"] for peer in peers]]
    if unknown:
        parser.error(f"no peer {', '.join(unknown)}; known: {', '.join(peer['name'] for peer in peers)}")
    failed = False
    for message in wrong_versions(peers):
        print(message)
        failed = True
    with tempfile.TemporaryDirectory(prefix="ashlar-probe-") as folder:
        probe = build_probe(folder)
        for peer in peers:
            if options.peers and peer["name"] not in options.peers:
                continue
            library = find_library(peer)
            if library is None:
                print(f"{peer['name']:<10} missing; remedy: {remedy(peer)}")
                failed = failed or not options.present
                continue
            wrong, notes = check(peer, library, probe)
            failed = failed or bool(wrong)
            print(f"{peer['name']:<10} " + ("FAILED: " + "; ".join(wrong) if wrong else "takes over")
                  + (f" ({', '.join(notes)})" if notes else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\ncheck_peers: interrupted")
    except subprocess.CalledProcessError as error:
        sys.exit(f"check_peers: the probe does not build ({error.cmd[0]} ended with {error.returncode})")
