#!/usr/bin/env python3
"""The drop-in library's reports at exit: who holds what, as text and JSON, and the last look at all blocks.

usage: leaks.py PROGRAM LIBRARY      PROGRAM is tests/misuse/leaks.cpp, built
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

program, library = sys.argv[1:]


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASHLAR_")}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60,
                          env={**environment, **variables, "LD_PRELOAD": library})


def require(holds, what, done):
    if not holds:
        sys.exit(f"leaks: {what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def sites_of(report):
    return {(site["call"], site["blocks"], site["bytes"]): [frame.get("function") for frame in site["frames"]]
            for site in report["sites"]}


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "leaks.json"
    done = run(ASHLAR_CHECK="full", ASHLAR_LEAKS="1", ASHLAR_LEAKS_FILE=str(path))
    require(done.returncode == 0, "a program that only leaks ends well", done)
    report = json.loads(path.read_text())
    sites = sites_of(report)
    require("hold_five" in sites.get(("malloc", 5, 500), []), "five blocks of 100 bytes by hold_five", done)
    require("hold_one" in sites.get(("operator new", 1, 40), []), "one block of 40 bytes by hold_one", done)
    require(not any("hold_none" in frames for frames in sites.values()), "nothing of what was freed", done)
    require(report["bytes"] == sum(size for _, _, size in sites), "the sum is that of the sites", done)
    require("500 bytes in 5 blocks by malloc:" in done.stderr and "hold_five" in done.stderr, "the same as text", done)

    done = run(ASHLAR_LEAKS_FILE=str(path))
    report = json.loads(path.read_text())
    require({"block_size": 112, "blocks": 5, "bytes": 560} in report["classes"], "by class without checks", done)
    require(done.stderr == "", "nothing is printed that was not asked for", done)

    done = run("spoil", ASHLAR_CHECK="full", ASHLAR_CHECK_GUARD="0")
    require(done.returncode == -6 and "bytes behind the block were overwritten" in done.stderr and "hold_five" in
            done.stderr, "a block that is never freed is looked at when the process ends", done)
    done = run("spoil", ASHLAR_CHECK_GUARD="1")
    require(done.returncode == -6 and "bytes behind the block were overwritten" in done.stderr and "hold_five" in
            done.stderr, "and so is a guarded one", done)
    done = run(ASHLAR_CHECK="full", ASHLAR_CHECK_GUARD="1", ASHLAR_LEAKS_FILE=str(path))
    sites = sites_of(json.loads(path.read_text()))
    require("hold_five" in sites.get(("malloc", 5, 500), []), "five guarded blocks by hold_five", done)
    done = run("spoil")
    require(done.returncode == 0 and done.stderr == "", "without checks nobody looks", done)

    done = run(ASHLAR_CHECK="fool")
    require(done.returncode == 0 and "ASHLAR_CHECK=fool is ignored: expected 0, 1 or full" in done.stderr,
            "a wrong value is named", done)

    # 999 blocks come and go; a guarded one has no class, and none of the others is so large that it has none.
    large, reserved = [], []
    for guard in ("0", "10", "1"):
        done = run(ASHLAR_CHECK_GUARD=guard, ASHLAR_CHECK_GUARD_SLOTS="32", ASHLAR_STATS_FILE=str(path))
        stats = json.loads(path.read_text())
        large.append(stats["large"]["allocations"])
        reserved.append(stats["total"]["reserved_bytes"])
    # The heap beside them claims addresses as it grows, and grows less where blocks are guarded. Where the first
    # guarded block's stack has the loader allocate, the reserve claims as much as the heap.
    require(all((30 << 21) <= r - reserved[0] <= (34 << 21) + reserved[0] for r in reserved[1:]),
            f"32 slots of 2 MiB, and what aligns them, are reserved, not {reserved}", done)
    # At random, so with bounds that a right program misses once in a million times (binomial, five deviations).
    for before, least, most in (("0", 0, 0), ("1", 1000, 1000), ("2", 421, 579), (None, 181, 319)):
        variables = {} if before is None else {"ASHLAR_CHECK_GUARD_BEFORE": before}
        done = run("sides", ASHLAR_CHECK_GUARD="1", **variables)
        require(done.returncode == 0 and least <= int(done.stdout) <= most,
                f"{least} to {most} of 1000 guarded blocks begin a page with ASHLAR_CHECK_GUARD_BEFORE={before}", done)
    require(large[0] == 0 and 40 < large[1] < 300 and large[2] > 990, f"one of 10 blocks is guarded, not {large}", done)
print("leaks: reported by site and by class; the last look found what was spoilt")
