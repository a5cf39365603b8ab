#!/usr/bin/env python3
"""Runs a program that records its pools, and takes its trace through stat, dump, tune, verify, check and replay.

The classes that `ashlar tune` finds have to be those that the program is known to need; births, threads and the names of
the pools those that it has; and the certificate has to be true.

usage: check_chain.py ASHLAR WORK_FOLDER --trace NAME --births N --pools NAME,... --classes SIZExCOUNT,... [--threads N]
                      [--align N] [--compiler COMMAND] -- PROGRAM ARGUMENT...
The program runs in WORK_FOLDER and writes its trace there. --compiler: the words that compile a file for the program's
machine; the header of the pools has to compile there, with a pool set of it.
"""
import argparse
import json
import pathlib
import shutil
import subprocess


def run(words, folder, **more):
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=50, **more)
    if done.returncode != 0:
        raise SystemExit(f"check_chain: {' '.join(map(str, words))} ended with {done.returncode}:\n"
                         f"{done.stdout}{done.stderr}")
    return done


def require(what, said, wanted):
    if said != wanted:
        raise SystemExit(f"check_chain: {what}: {said}, where {wanted} was expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ashlar", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--births", type=int, required=True)
    parser.add_argument("--pools", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--align", default="16")
    parser.add_argument("--compiler", default="")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    ashlar, folder, trace = arguments.ashlar.resolve(), arguments.folder, arguments.trace
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(arguments.program, folder)

    stat = json.loads(run([ashlar, "report", "--text", "--json", trace], folder).stdout)
    require("births", stat["events"]["pool"], arguments.births)
    require("deaths", stat["events"]["pool-free"], arguments.births)
    require("blocks left", stat["live_at_end"]["blocks"], 0)
    for name in ("unknown_deaths", "missing_deaths", "lost"):
        require(name, stat[name], 0)
    require("refused requests", stat["events"]["refused"], 0)
    require("threads", stat["threads"], arguments.threads)
    require("what the trace lacks", stat["warning"], "")
    pools = arguments.pools.split(",")
    require("pools", sorted(site["frames"][0] for site in stat["call_sites"]), sorted(pools))
    require("births of all pools", sum(site["births"] for site in stat["call_sites"]), arguments.births)
    text = run([ashlar, "report", "--text", trace], folder).stdout
    for wanted in ["pools with the most bytes at the peak", stat["header"]["program"], *pools]:
        if wanted not in text:
            raise SystemExit(f"check_chain: `ashlar report --text` does not say '{wanted}':\n{text}")

    (folder / "trace.txt").write_text(run([ashlar, "export", "--format=text", trace], folder).stdout)
    run([ashlar, "export", "--from-text", "trace.txt", "-o", "again.atrace"], folder)
    require("the trace that came from its text, as text",
            run([ashlar, "export", "--format=text", "again.atrace"], folder).stdout == (folder / "trace.txt").read_text(), True)

    classes = arguments.classes.split(",")
    tuned = run([ashlar, "tune", "--classes", len(classes), "--align", arguments.align, "-o", "pools.hpp", trace],
                folder)
    require("warnings of `ashlar tune`", tuned.stderr, "")
    chosen = json.loads((folder / "pools.json").read_text())["classes"]
    require("classes", [f"{c['block_size']}x{c['capacity']}" for c in chosen], classes)
    run([ashlar, "tune", "verify", "pools.json"], folder)
    run([ashlar, "tune", "check", "--against", "pools.json", trace], folder)
    run([ashlar, "replay", "-n", "1", "--on", "pools.json", trace], folder)
    if arguments.compiler:
        (folder / "pools.cpp").write_text('#include "pools.hpp"\nconstinit tuned::static_pools<> pools;\n')
        run([*arguments.compiler.split(), "-c", "pools.cpp", "-o", "pools.o"], folder)
    print(f"{trace}: {arguments.births} births in {len(pools)} pools; tuned to {', '.join(classes)}; verified")


if __name__ == "__main__":
    main()
