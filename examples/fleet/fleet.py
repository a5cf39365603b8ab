#!/usr/bin/env python3
"""Reduces a fleet's profiles to one, by a tree of `ashlar tune profile` tasks on Dask distributed.

  fleet.py -o all.aprof PATH...                             profiles that lie here: files, and those in folders
  fleet.py -o all.aprof --on-workers PATH...                that lie on the workers' machines
  fleet.py -o all.aprof --record "PROGRAM ARGS" --runs N    of N runs that the workers record
  fleet.py -o all.folded --stacks [--versions OLD NEW] PATH...   what `ashlar agent --push FOLDER` wrote

The workers are processes of this machine (--workers N), or those of a cluster that is there (--scheduler ADDRESS).
Profiles travel as bytes, so nobody needs a common file system. Merging is associative and commutative and a profile has
one encoding: whatever the tree's shape, and whichever worker dies in the middle, the result is to the byte that of one
`ashlar tune profile` of all.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import gzip
import logging
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from multiprocessing import resource_tracker
from pathlib import Path

# numpy starts threads when it is imported, and the system may give Ctrl-C to any thread that does not block it. The
# interruption would then come wherever this program is just then, and not where finished() asks for it.
mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
from distributed import Client, Future, LocalCluster, get_worker
from distributed.scheduler import KilledWorker

signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)

MAGIC = b"\x89APR\r\n\x1a\n"  # of a profile: docs/profile-format.md
STACKS = b"(fleet);"  # each line of folded stacks begins so
COUNT = "(profiles)"  # in place of a stack: how many profiles its keys have


class FleetError(Exception):
    """Its message names the thing and the remedy."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """What a task returns: a profile's bytes, and where they are from. No bytes: everything was left out."""
    name: str
    data: bytes | None
    left_out: tuple[str, ...] = ()

    def __sizeof__(self) -> int:
        """What Dask weighs: it moves small results to large ones."""
        return object.__sizeof__(self) + len(self.data or b"")


# Tasks, which run on the workers.

def given(name: str, data: bytes) -> Profile:
    """A profile that comes with its task, since a task that is lost is done over, and scattered data is not."""
    return Profile(name, data)


def read(file: str) -> Profile:
    """A profile that lies on this worker's machine."""
    name = f"{socket.gethostname()}:{file}"
    try:
        return Profile(name, Path(file).read_bytes())
    except OSError as problem:
        raise FleetError(f"{name}: {problem.strerror}") from problem


def record(ashlar: str, words: list[str], number: int, traces: str | None) -> Profile:
    """The profile of a run and of the processes that it forked. Their traces stay here in `traces`, or go."""
    name = f"run {number} of {shlex.join(words)} on {socket.gethostname()}"
    with scratch_folder() as scratch:
        folder = Path(tempfile.mkdtemp(prefix=f"run-{number}-", dir=traces or scratch))
        result = folder / "run.aprof"
        status, said = run(ashlar, "record", "--no-stacks", "-o", folder / "run.atrace", "--", *words)
        if status != 0:
            raise FleetError(f"{name} ended with {status}: {said}")
        status, said = run(ashlar, "tune", "profile", "-o", result, *sorted(folder.glob("*.atrace")))
        if status != 0:
            raise FleetError(f"{name}: {said}")
        return Profile(name, result.read_bytes())


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(message: bytes) -> dict[int, list]:
    """Of a protobuf message, by their numbers: numbers, and bytes."""
    found, at = defaultdict(list), 0
    while at < len(message):
        key, at = varint(message, at)
        value, at = varint(message, at)
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        found[key >> 3].append(value)
    return found


def folded(profile: bytes) -> Counter:
    """Live bytes of each stack of a profile of pprof's, behind hour, host, service, version and build id."""
    all_of = fields(gzip.decompress(profile))
    texts = [text.decode(errors="replace").replace(";", ":").replace("\n", " ") for text in all_of[6]]

    def by_id(number: int) -> dict[int, dict[int, list]]:
        return {part[1][0]: part for part in map(fields, all_of[number])}
    mappings, locations, functions = by_id(3), by_id(4), by_id(5)
    live = [texts[fields(kind)[1][0]] for kind in all_of[1]].index("inuse_space")
    said = dict(texts[comment].split("=", 1) for comment in all_of[13])

    def names(location: dict[int, list]) -> list[str]:
        """The innermost last, as a folded stack has them; where none is known, the build and the place in it."""
        lines = [texts[functions[fields(line)[1][0]][2][0]] for line in location[4]]
        if not lines and location[2]:
            at = mappings[location[2][0]]
            lines = [f"{texts[(at[6] or at[5])[0]]}+{location[3][0] - at[2][0] + (at[4] or [0])[0]:#x}"]
        return lines[::-1] or ["?"]

    def numbers(packed: bytes) -> list[int]:
        found, at = [], 0
        while at < len(packed):
            value, at = varint(packed, at)
            found.append(value)
        return found
    builds = [texts[at[6][0]] for at in mappings.values() if at[6]]
    keys = [time.strftime("%Y-%m-%dT%H", time.gmtime(all_of[9][0] // 10**9)), *(said[name] or "-" for name in (
        "host", "service", "version")), builds[0] if builds else "-"]
    sums = Counter({";".join([*keys, COUNT]): 1})
    for sample in map(fields, all_of[2]):
        stack = [name for place in reversed(numbers(sample[1][0])) for name in names(locations[place])]
        tags = [f"[{texts[label[2][0]]}]" for label in map(fields, sample[3])]
        if value := numbers(sample[2][0])[live]:
            sums[";".join([*keys, *tags, *stack])] += value
    return sums


def stacks_in(data: bytes) -> Counter:
    if not data.startswith(STACKS):
        return folded(data)
    lines = (line.rpartition(" ") for line in data.decode().splitlines())
    return Counter({stack.removeprefix(STACKS.decode()): int(value) for stack, _, value in lines})


def merge_stacks(skip_damaged: bool, parts: list[Profile]) -> Profile:
    """The sum of all, as text whose lines are in order: whatever the tree's shape, it is the same."""
    sums, left_out = Counter(), [reason for part in parts for reason in part.left_out]
    for part in parts:
        try:
            sums.update(stacks_in(part.data or STACKS))
        except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as problem:
            reason = f"{part.name}: no profile of ashlar agent --push: {problem}"
            if not skip_damaged:
                raise FleetError(f"{reason} (--skip-damaged goes on without it)") from problem
            left_out.append(reason)
    lines = [f"{STACKS.decode()}{stack} {value}\n" for stack, value in sorted(sums.items())]
    return Profile(parts[0].name, "".join(lines).encode() or None, tuple(left_out))


def growth(data: bytes, old: str, new: str) -> Iterator[str]:
    """What the processes of two versions hold on average at each stack: where the new one holds most more, first."""
    held: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for keys, value in stacks_in(data).items():
        _, _, service, version, _, *stack = keys.split(";")
        if version in (old, new):
            at = held[";".join(stack)]
            at[service, version] = at.get((service, version), 0) + value
    counts = held.pop(COUNT, {})
    for version in (old, new):
        if not any(version == known for _, known in counts):
            raise FleetError(f"no profile is of version {version}")
    rows = []
    for stack, at in held.items():
        for service in {service for service, _ in at}:
            before, after = (at.get((service, v), 0) / counts.get((service, v), 1) for v in (old, new))
            rows.append((after - before, before, after, f"{service}: {stack}"))
    yield f"{old:>14} {new:>14} {'growth':>14}  live bytes of a process on average"
    for more, before, after, where in sorted(rows, key=lambda row: (-row[0], row[3]))[:10]:
        yield f"{before:14,.0f} {after:14,.0f} {more:+14,.0f}  {where}"


def merge(ashlar: str, skip_damaged: bool, parts: list[Profile]) -> Profile:
    """One profile of several. A damaged one is refused by its name, or left out."""
    name = parts[0].name  # stands for all of them
    left_out = [reason for part in parts for reason in part.left_out]
    with scratch_folder() as folder:
        names = {}
        for number, part in enumerate(parts):
            if part.data is not None:
                file = folder / f"{number}.aprof"
                file.write_bytes(part.data)
                names[str(file)] = part.name
        while names:
            result = folder / "merged.aprof"
            status, said = run(ashlar, "tune", "profile", "-o", result, *names)
            if status == 0:
                return Profile(name, result.read_bytes(), tuple(left_out))
            damaged = next((file for file in names if file in said), None)
            if damaged is None:
                raise FleetError(f"merge of {name} and others ended with {status}: {said}")
            reason = said.replace(damaged, names.pop(damaged)).removeprefix("ashlar: ")
            if not skip_damaged:
                raise FleetError(f"{reason} (--skip-damaged goes on without it)")
            left_out.append(reason)
    return Profile(name, None, tuple(left_out))


def run(ashlar: str, *arguments: str | Path) -> tuple[int, str]:
    """Runs a command that ends with its worker, however that ends. Returns its status and what it said of it."""
    if shutil.which(ashlar) is None:
        raise FleetError(f"{socket.gethostname()}: no command '{ashlar}': install it on each worker's machine (cmake "
                         "--install), or tell with --ashlar where it is there")
    done = subprocess.run(["setpriv", "--pdeathsig", "TERM", "--", ashlar, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    return done.returncode, done.stderr.strip()[-1000:]


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder inside the worker's own, which goes even if the worker is killed."""
    with tempfile.TemporaryDirectory(dir=get_worker().local_directory) as folder:
        yield Path(folder)


def profile_files(pattern: str, paths: list[str]) -> list[str]:
    """What the paths name on this machine: files, and all profiles in folders."""
    files: list[Path] = []
    for path in map(Path, paths):
        found = sorted(path.rglob(pattern)) if path.is_dir() else [path]
        if not found or not path.exists():
            raise FleetError(f"{socket.gethostname()}: {path}: no profile is there ({pattern})")
        files += found
    return [str(file) for file in files]


# The graph, which is made here.

def profiles_here(client: Client, pattern: str, paths: list[str], result: Path) -> list[Future]:
    files = profile_files(pattern, paths)
    if result.exists() and any(map(result.samefile, files)):
        raise FleetError(f"{result}: it would be one of its own parts, and its runs count twice: write it elsewhere")
    return [client.submit(given, file, Path(file).read_bytes()) for file in files]


def profiles_there(client: Client, pattern: str, paths: list[str]) -> list[Future]:
    """One worker of each machine tells what lies there; any worker of that machine reads it."""
    workers = client.scheduler_info()["workers"]
    asked = {worker["host"]: address for address, worker in workers.items()}
    found = client.run(profile_files, pattern, paths, workers=list(asked.values()))
    return [client.submit(read, file, workers=[host], pure=False)
            for host, address in asked.items() for file in found[address]]


def recordings(client: Client, ashlar: str, words: list[str], runs: int, traces: str | None) -> list[Future]:
    return [client.submit(record, ashlar, words, number, traces, pure=False) for number in range(1, runs + 1)]


def tree(client: Client, merged: Callable[[list[Profile]], Profile], nodes: list[Future], arity: int) -> Future:
    """Each node goes into one merge only: what died with a worker is made again, and still counts once."""
    while True:
        nodes = [client.submit(merged, nodes[first:first + arity]) for first in range(0, len(nodes), arity)]
        if len(nodes) == 1:
            return nodes[0]


# The command.

@contextlib.contextmanager
def cluster(options: argparse.Namespace) -> Iterator[Client]:
    """The cluster that is there, or workers of this machine, which end with this.

    Ctrl-C is blocked, and inherited so by the workers and whoever replaces them: this process ends them in good order.
    """
    if options.scheduler:
        with Client(options.scheduler) as client:
            try:
                client.wait_for_workers(1, timeout=30)
            except TimeoutError as problem:
                raise FleetError(f"no worker at {options.scheduler}: start some (dask-worker ADDRESS)") from problem
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            yield client
        return
    with tempfile.TemporaryDirectory(prefix="fleet-", ignore_cleanup_errors=True) as folder:
        resource_tracker.ensure_running()  # it unblocks the signal where it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        # What matters comes as an exception, not by the logs, in which the others complain of a worker that died.
        with LocalCluster(n_workers=options.workers, threads_per_worker=1, local_directory=folder,
                          dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL) as workers:
            with Client(workers) as client:
                yield client
                with contextlib.suppress(TimeoutError):  # a replacement that is closed while it starts complains, too
                    client.wait_for_workers(options.workers, timeout=10)


def finished(root: Future) -> Profile:
    """The result, or Ctrl-C, for which this is the only place: in the middle of Dask's own work it may be lost."""
    while not root.done():
        if signal.sigtimedwait({signal.SIGINT}, 0.05):
            # A cluster takes its time to close: a second Ctrl-C ends this process at once, and its workers end with it.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            raise KeyboardInterrupt
    return root.result()


def check_output(file: Path, magic: bytes) -> None:
    """Before the work, and so that a trace, say, is not written over by mistake."""
    if file.is_dir() or not os.access(file.absolute().parent, os.W_OK):
        raise FleetError(f"{file}: no file can be written there")
    if file.exists():
        with file.open("rb") as there:
            if there.read(len(magic)) not in (magic, b""):
                raise FleetError(f"{file} is there and is no profile: name another file with -o, or remove it")


def write_whole(file: Path, data: bytes) -> None:
    """What was there stays until all is written."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a profile, or a folder with some (*.aprof)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the profile of all runs")
    parser.add_argument("--on-workers", action="store_true", help="the paths are those of each worker's machine")
    parser.add_argument("--record", metavar="COMMAND", help="record this on the workers instead of reading profiles")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="so many runs of it (1)")
    parser.add_argument("--traces", metavar="FOLDER", help="keep their traces there, on the machines that made them")
    parser.add_argument("--stacks", action="store_true", help="the profiles are those of ashlar agent --push FOLDER "
                        "(*.pb.gz); the result is folded stacks, for flame graph tools")
    parser.add_argument("--versions", nargs=2, metavar=("OLD", "NEW"), help="with --stacks: print where NEW holds more")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N",
                        help="processes on this machine (one for each processor)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a cluster that is there, as in tcp://10.0.0.1:8786")
    parser.add_argument("--arity", type=int, default=8, metavar="K", help="profiles for each merge (8)")
    parser.add_argument("--skip-damaged", action="store_true", help="leave damaged profiles out and tell which")
    parser.add_argument("--ashlar", default="ashlar", metavar="COMMAND", help="on the workers (ashlar)")
    options = parser.parse_args()
    if bool(options.paths) == bool(options.record):
        parser.error("either PATHs or --record COMMAND")
    if (options.versions and not options.stacks) or (options.record and options.stacks):
        parser.error("--versions is for --stacks, and --record not")
    if options.arity < 2 or options.workers < 1 or options.runs < 1:
        parser.error("--arity is 2 at least, --workers and --runs 1")
    return options


def reduce(options: argparse.Namespace) -> None:
    started = time.monotonic()
    pattern = "*.pb.gz" if options.stacks else "*.aprof"
    check_output(options.output, STACKS if options.stacks else MAGIC)
    with cluster(options) as client:
        if options.record:
            leaves = recordings(client, options.ashlar, shlex.split(options.record), options.runs, options.traces)
        elif options.on_workers:
            leaves = profiles_there(client, pattern, options.paths)
        else:
            leaves = profiles_here(client, pattern, options.paths, options.output)
        count = len(leaves)
        merged = (functools.partial(merge_stacks, options.skip_damaged) if options.stacks else
                  functools.partial(merge, options.ashlar, options.skip_damaged))
        root = tree(client, merged, leaves, options.arity)
        del leaves  # or the workers would keep them all to the end
        whole = finished(root)
        for reason in whole.left_out:
            print(f"fleet: left out: {reason}", file=sys.stderr)
        if whole.data is None:
            raise FleetError("every profile is damaged, so nothing was written")
        grown = list(growth(whole.data, *options.versions) if options.versions else ())
        write_whole(options.output, whole.data)
        moved = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total, on_error="ignore")
    print(*grown, sep="\n", end="\n" if grown else "")
    print(f"{options.output}: {count - len(whole.left_out):,} of {count:,} profiles in {len(whole.data):,} bytes; "
          f"{sum(moved.values()):,} bytes between workers, {time.monotonic() - started:.1f} s")


def main() -> int:
    try:
        reduce(arguments())
    except KeyboardInterrupt:
        print("fleet: interrupted; nothing was written", file=sys.stderr)
        return 128 + signal.SIGINT
    except (KilledWorker, CancelledError) as problem:  # a task that kills its workers; a scheduler that is gone
        print(f"fleet: the cluster gave up: {problem}", file=sys.stderr)
        return 1
    except (FleetError, OSError) as problem:
        print(f"fleet: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
