"""A small recorded run and what the other commands say of it, made here: the report's inputs, always the same."""
import json
import random
import subprocess
from pathlib import Path

EVENTS = 20_000


def trace_text() -> str:
    """A program with two threads that grows, works and shrinks; stacks, alignments, a waste, requests that a pool refused, a name
    that would end a script."""
    rng = random.Random(4)
    lines = ["ashlar-trace-text 1", "header program /usr/bin/</script><b>parser",
             "header arguments parser\\00</script>\\00",
             "header ticks_per_second 1000000000", "header started 1700000000",
             "module 0x1000 0x9000 0x0 /nowhere/parser"]
    for number in range(1, 10):
        lines.append(f"stack {number} {0x1000 + number * 16:#x} {0x2000 + number % 3 * 16:#x} 0x3000")
    sizes = [16, 24, 40, 48, 72, 100, 160, 300, 1000, 4096, 30000, 200000]
    live: list[int] = []
    time, address = 0, 0x100000
    for i in range(EVENTS):
        time += rng.randrange(1, 20000)
        growing = 0.75 if i < EVENTS * 0.4 else 0.5 if i < EVENTS * 0.8 else 0.2
        thread = rng.randrange(1, 3)
        if rng.random() < growing or not live:
            size = int(rng.choices(sizes, weights=[1 / (n + 1) for n in range(len(sizes))])[0] * rng.uniform(0.7, 1))
            address += 0x100000
            aligned = " align=64" if rng.random() < 0.02 else ""
            lines.append(f"{time} {thread} malloc {address:#x} {size}{aligned} stack={rng.randrange(1, 9)}")
            live.append(address)
        else:
            dead = live.pop(rng.randrange(max(0, len(live) - 200), len(live)))
            lines.append(f"{time} {thread} free {dead:#x}")
        if i % 4 == 0:  # a temporary block, which is a finding
            lines.append(f"{time} {thread} malloc 0x10000 64 stack=9")
            lines.append(f"{time} {thread} free 0x10000")
        if i % 1000 == 0:
            lines.append(f"{time} {thread} refused 24 messages")
        if i % 200 == 0:
            lines.append(f"memory {time} {(i + 1) * 1000} 0")
        if i == 8000:  # malloc's, a library, and what the program maps itself: malloc has little
            lines.append(f"memory {time} 100000000 110000000 4 0x100000 {address + 0x100000:#x} 40000000 \\e "
                         "1 0x0 0x0 10000000 </script><b>lib.so 4 0x0 0x0 50000000 V8")
    return "\n".join(lines) + "\n"


def spread(middle: float) -> dict:
    return {"median": middle, "min": middle * 0.9, "max": middle * 1.2}


ALLOCATORS = {"system": 1.0, "ashlar": 0.8, "jemalloc": 0.9}


def pools() -> dict:
    sizes = [(32, 3000), (80, 2500), (176, 900), (512, 500), (4096, 400), (30000, 100)]
    return {"certificate": 2, "total_bytes": 4_000_000, "margin_percent": 10, "inputs": [{"file": "run.atrace"}],
            "classes": [{"block_size": s, "alignment": 64 if s % 64 == 0 else 16, "capacity": c} for s, c in sizes]}


def comparison() -> dict:
    allocators = [{"name": n, "runs": 5, "failure": "", "wall_seconds": spread(1.3 * f), "cpu_seconds": spread(1.2 * f),
                   "peak_rss_bytes": spread(int(50e6 * f))} for n, f in ALLOCATORS.items()]
    allocators.append({"name": "broken", "runs": 0, "failure": "exit status 1"})
    return {"report": "compare", "schema": 1, "label": "parser", "command": ["parser", "<big>.json"],
            "allocators": allocators}


def replay() -> dict:
    def times(factor: float) -> dict:
        names = ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "longest_ns"]
        return {"calls": 10000} | {n: int(20 * factor * 4 ** i) for i, n in enumerate(names)}
    return {"report": "replay", "schema": 1, "trace": "run.atrace", "outcomes": [
        {"on": n, "runs": 5, "failures": 0, "wall_seconds": spread(0.3 * f), "processor_seconds": spread(0.29 * f),
         "peak_rss_bytes": spread(int(40e6 * f)), "latencies": {"malloc": times(f), "free": times(f * 0.7)}}
        for n, f in ALLOCATORS.items()]}


def make(ashlar: str, folder: Path) -> tuple[Path, dict]:
    """Returns: the page, and the data that --json prints beside it."""
    (folder / "run.txt").write_text(trace_text())
    subprocess.run([ashlar, "export", "--from-text", "run.txt", "-o", "run.atrace"], cwd=folder, check=True)
    for name, content in {"pools": pools(), "compare": comparison(), "replay": replay()}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    command = [ashlar, "report", "run.atrace", "--json", "-o", "page.html", "--pools", "pools.json",
               "--compare", "compare.json", "--replay", "replay.json"]
    printed = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return folder / "page.html", json.loads(printed)
