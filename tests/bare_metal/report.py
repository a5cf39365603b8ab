#!/usr/bin/env python3
"""The tables of results/bare-metal.md, and the instructions in bare-metal.csv beside it: as images count them, flash and RAM
as linked.

Runs the images that count, and reads the sections of those that were linked for their sizes. Compares the tables with
the document's, or writes them there. What a kind of pool takes is looked at first: .bss is its pool to the byte, and a
pool without checks has at most 96 bytes of flash and 8 of RAM beside its blocks.

usage: report.py QEMU BUILD_FOLDER DOCUMENT [--update]
"""
import argparse
import csv
import io
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import page_part  # noqa: E402
from pool_map import Image  # noqa: E402

COUNTING = ("constant_time", "newlib", "newlib_nano")
BLOCK_BYTES = 32 * 48
KINDS = {
    "unchecked": "no checks, not counted",
    "cheap": "cheap checks, not counted",
    "defaults": "cheap checks, counted (the defaults)",
    "masked": "no checks, not counted, interrupts masked",
    "lock_free": "no checks, not counted, lock-free",
}
TARGETS = {"cortex-m0_Os": "M0 -Os", "cortex-m4_Os": "M4 -Os", "cortex-m4_O2": "M4 -O2"}


def rows_of(qemu, image, kind="row"):
    run = subprocess.run(
        [qemu, "-M", "netduinoplus2", "-nographic", "-monitor", "none", "-serial", "none", "-chardev", "stdio,id=out",
         "-semihosting-config", "enable=on,target=native,chardev=out", "-icount", "shift=7,align=off,sleep=off",
         "-kernel", image], capture_output=True, text=True, timeout=50)
    if run.returncode != 0:
        raise SystemExit(f"report: {image} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return [line.split("|")[1:] for line in run.stdout.splitlines() if line.startswith(f"{kind}|")]


def span(least, mean, most):
    return most if least == most else f"{least} to {most}, mean {mean}"


def instructions(qemu, build):
    rows = [["10,000 random calls and the worst states", "allocate", "the first time, at most", "when empty", "free"]]
    for image in COUNTING:
        for name, *figures in rows_of(qemu, str(build / f"{image}.elf")):
            first, again, refused, freed = (figures[i:i + 3] for i in range(0, 12, 3))
            rows.append([name, span(*again), first[2] if first[2] != "0" else "",
                         span(*refused) if refused[2] != "0" else "", span(*freed)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def preemption(qemu, build):
    lines = ["| a pool of 6 blocks, M4 -O2 | the handler came | blocks lost or shared | longest masked stretch, instructions |",
             "|---|---:|---:|---:|"]
    for name, moments, losses, masked in rows_of(qemu, str(build / "preemption.elf"), "preempted"):
        lines.append(f"| {name} | {moments} times | {losses} times | {masked} |")
    return "\n".join(lines)


def sizes(_, build):
    lines = ["| one `static_pool` of 32 blocks of 48 bytes | " +
             " | ".join(f"{t}: flash | RAM beside the blocks" for t in TARGETS.values()) + " |",
             "|---|" + "---:|" * (2 * len(TARGETS))]
    for kind, text in KINDS.items():
        cells = []
        for target in TARGETS:
            path = build / f"sizes.{target}.{kind}.elf"
            if not path.exists():
                cells += ["", ""]
                continue
            image = Image(path)
            flash = sum(s.size for s in image.sections if s.name in (".text", ".init_array", ".data"))
            pool = next(s.size for s in image.symbols() if s.name == f"{kind}_pool")
            if image.size(".bss") != pool or image.size(".data"):
                raise SystemExit(f"report: {path.name}: .bss is {image.size('.bss')} bytes, the pool {pool}")
            if kind == "unchecked" and (flash > 96 or pool - BLOCK_BYTES > 8):
                raise SystemExit(f"report: {path.name}: {flash} bytes of flash (96 are promised), "
                                 f"{pool - BLOCK_BYTES} of RAM beside the blocks (8)")
            cells += [str(flash), str(pool - BLOCK_BYTES)]
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def recording(qemu, build):
    lines = ["| a `static_pool` that is recorded, M4 -O2 | allocate | free | bytes an event |", "|---|---:|---:|---:|"]
    for name, *figures in rows_of(qemu, str(build / "recording_time.elf"), "recorded"):
        allocated, freed = figures[0:3], figures[3:6]
        byte_count, events = map(int, figures[6:8])
        lines.append(f"| {name} | {span(*allocated)} | {span(*freed)} | {byte_count / events:.1f} |")
    return "\n".join(lines)


def recording_sizes(_, build):
    lines = ["| the recorder, frames of 512 bytes, one thread, 8 pools | flash | RAM |", "|---|---:|---:|"]
    for target, text in TARGETS.items():
        images = [Image(build / f"recording_sizes.{target}.{kind}.elf") for kind in ("recorded", "unrecorded")]
        flash = [sum(s.size for s in i.sections if s.name in (".text", ".init_array", ".data")) for i in images]
        ram = [i.size(".bss") for i in images]
        recorder = next(s.size for s in images[0].symbols() if s.name == "recorder")
        pool = next(s.size for s in images[0].symbols() if s.name == "recorded_pool_object")
        if any(i.size(".data") for i in images) or ram[1] != pool or ram[0] < recorder + pool:
            raise SystemExit(f"report: {target}: .bss is {ram[0]} bytes with the recorder ({recorder}) and {ram[1]} "
                             f"without; the pool is {pool}, and nothing is to be in .data")
        lines.append(f"| {text} | {flash[0] - flash[1]} | {ram[0] - ram[1]} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qemu")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    page = arguments.document.read_text()
    for name, table in (("preemption", preemption), ("sizes", sizes), ("recording", recording),
                        ("recording_sizes", recording_sizes)):
        page = page_part.replaced(page, name, table(arguments.qemu, arguments.build))
    for file, text in ((arguments.document, page),
                       (arguments.document.with_suffix(".csv"), instructions(arguments.qemu, arguments.build))):
        if arguments.update:
            file.write_text(text)
        elif text != file.read_text():
            for line in set(text.splitlines()) - set(file.read_text().splitlines()):
                print(f"now: {line}", file=sys.stderr)
            raise SystemExit(f"report: {file} is not what the images say; "
                             "remedy: cmake --build build/release --target update_bare_metal_document")


if __name__ == "__main__":
    main()
