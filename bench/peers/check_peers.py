#!/usr/bin/env python3
"""Says for every peer in peers.json whether it is there and whether it takes over.

The loader takes what is preloaded before all others, so a peer takes over what its library exports: that must be the malloc
family. C++ operators may come from the C++ library, whose operators call malloc. What a peer does with blocks alloc_bench
sees, which checks each one. Exit status: 0 when all is well, 1 when a peer fails or is missing.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ashlar_bench.allocators import find_library, read_peers, remedy  # noqa: E402

# Without these a program would mix two allocators. Others, which few programs call, may come from the C
# library; they are named, because to free what they return ends in a crash or worse.
REQUIRED = ("malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign",
            "malloc_usable_size")
TOLD = ("valloc", "pvalloc")


def check(library):
    """Returns: what is wrong, and what is only worth telling, as lists of texts. No library: the C library itself."""
    if not library:
        return [], []
    done = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=posix", find_file(library)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return [done.stderr.strip()], []
    there = {line.split()[0].partition("@")[0] for line in done.stdout.splitlines()}
    wrong, notes = ([f"{name} comes from the C library" for name in names if name not in there] for names in (REQUIRED, TOLD))
    return wrong, notes


def find_file(library):
    """Where the loader finds it, by its own list of libraries."""
    if "/" in library:
        return library
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    found = re.search(rf"^\s{re.escape(library)} .*=> (\S+)$", listed, re.M)
    return found[1] if found else library


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
    for peer in peers:
        if options.peers and peer["name"] not in options.peers:
            continue
        library = find_library(peer)
        if library is None:
            print(f"{peer['name']:<10} missing; remedy: {remedy(peer)}")
            failed = failed or not options.present
            continue
        wrong, notes = check(library)
        failed = failed or bool(wrong)
        print(f"{peer['name']:<10} " + ("FAILED: " + "; ".join(wrong) if wrong else "takes over")
              + (f" ({', '.join(notes)})" if notes else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\ncheck_peers: interrupted")
