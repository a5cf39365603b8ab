#!/usr/bin/env python3
"""The hardened edition notices each kind of misuse, in blocks of each kind of size, by its own line.

usage: hardened_test.py misuses|order|place|settings PROGRAM HARDENED_LIBRARY LIBRARY [FAULTS]

FAULTS is the program of tests/misuse/malloc.c: what PROGRAM does not have is one of its faults.

Everything is run on the hardened library, and on the other one by ASHLAR_HARDEN=1.
"""
import os
import re
import subprocess
import sys
import tempfile

SIZES = (40, 64, 1000, 4096, 20000, 100000, 131064, 200000, 3000000)
CLASS_MAX = 128 * 1024  # a larger block, with its word, is one of pages of its own

DOUBLE = "the block is free already (double free)"
NOT_THERE = "no block is in use at the address"
INTERIOR = "the address is inside a block, not its start"
FOREIGN = "the address was not allocated here"
BEHIND = "bytes behind the block were overwritten"
AFTER = "the block was written to after it was freed"

CRASH = ("", "a signal, and no message")  # an access that the machine refuses

MISUSES = {  # mode: call that tells it; what it says of a block of a class; of a larger one
    "correct": None,
    "addresses": None,
    "cleared": None,
    "usable_size": None,
    "double_free": ("free", DOUBLE, NOT_THERE),
    "double_free_after_calls": ("free", DOUBLE, NOT_THERE),
    "double_free_by_a_thread": ("free", DOUBLE, NOT_THERE),
    "free_interior_16": ("free", INTERIOR, NOT_THERE),
    "free_interior_8": ("free", INTERIOR, NOT_THERE),
    "free_stack": ("free", FOREIGN, FOREIGN),
    "realloc_freed": ("realloc", DOUBLE, NOT_THERE),
    "usable_size_freed": ("malloc_usable_size", DOUBLE, NOT_THERE),
    "overflow_1_store": ("free", BEHIND, BEHIND),
    "overflow_8_store": ("free", BEHIND, BEHIND),
    "overflow_16_store": ("free", BEHIND, BEHIND),
    "overflow_nul": ("free", BEHIND, BEHIND),
    "overflow_by_realloc": ("realloc", BEHIND, BEHIND),
    "overflow_1_store_kept": ("exit", BEHIND, BEHIND),
    "correct_while_running": None,
    "overflow_while_running": ("(malloc|realloc)", BEHIND, None),
    "apart": None,
    "write_after_free": ("malloc", AFTER, CRASH),
    "write_freed_at_the_end": ("exit", AFTER, CRASH),
    "overflow_never_freed_two_threads": ("exit", BEHIND, BEHIND),
    "read_behind": ("", None, CRASH),
    "read_freed": ("", None, CRASH),
    "read_where_it_was": ("", None, CRASH),
    "read_what_was_taken_away": ("", None, CRASH),
    "no_bytes": None,
    "zero_double_free": ("free", DOUBLE, DOUBLE),
    "no_bytes_realloc_freed": ("realloc", DOUBLE, DOUBLE),
    "no_bytes_interior": ("free", INTERIOR, INTERIOR),
    "zero_malloc": ("", CRASH, CRASH),
    "zero_read": ("", CRASH, CRASH),
}


def run(program, library, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASHLAR_")}
    # What a guarded block says is another test's.
    environment = {**environment, "ASHLAR_CHECK_GUARD": "0", **variables, "LD_PRELOAD": library}
    component = ["malloc"] if arguments and program == FAULTS else []
    return subprocess.run([program, *component, *arguments], capture_output=True, text=True, timeout=60, env=environment,
                          check=False)


def editions(hardened, library):
    return (("hardened", hardened, {}), ("ASHLAR_HARDEN=1", library, {"ASHLAR_HARDEN": "1"}))


def is_as_expected(done, expected):
    if expected is None:
        return done.returncode == 0 and done.stdout.endswith("ended\n") and done.stderr == ""
    if expected == CRASH:
        return done.returncode == -11 and done.stderr == ""
    call, sentence = expected  # the call may be one of several: (a|b)
    call = call if call[0] == "(" else re.escape(call)
    # The word itself may have been overwritten: nothing tells the size then.
    line = rf"ashlar: {call}\(0x[0-9a-f]+\): {re.escape(sentence)}(, block size \d+)?\n"
    return done.returncode == -6 and re.fullmatch(line, done.stderr) is not None


def misuses(program, hardened, library):
    own, of_all = (set(re.findall(r"^(?:fault )?(\S+)$", listed.stdout + listed.stderr, re.M))
                   for listed in (run(p, library) for p in (program, FAULTS)))
    if not own <= set(MISUSES) <= own | of_all or own & of_all:
        yield "the programs have other modes"
    program_of = {mode: program if mode in own else FAULTS for mode in MISUSES}
    for name, lib, variables in editions(hardened, library):
        for mode, expected in MISUSES.items():
            for size in SIZES:
                has_class = size + 8 <= CLASS_MAX
                if "while_running" in mode and size not in (64, 4096, 100000):
                    continue
                # 3,000,000 bytes often is another test's matter.
                if size > 1000000 and mode in ("cleared", "write_after_free", "no_bytes"):
                    continue
                what = expected and (expected[0], expected[1 if has_class else 2])
                what = CRASH if what and what[1] == CRASH else what
                done = run(program_of[mode], lib, mode, str(size), **variables)
                if what is not None and what[1] is None:  # nothing is promised
                    continue
                # The last block of a slab ends at a closed page, which is met at once.
                if mode == "overflow_16_store" and size + 8 == CLASS_MAX and done.returncode == -11:
                    continue
                if not is_as_expected(done, what):
                    yield f"{name}, {mode} {size}: status {done.returncode}\n{done.stdout}{done.stderr}"

    # What no block can be at ends the process with one line, too, where others would go on.
    for name, lib, variables in editions(hardened, library):
        for mode in ("double_free", "free_interior_16", "free_stack", "realloc_freed", "usable_size_freed"):
            for size in (64, 200000):
                expected = MISUSES[mode]
                done = run(program_of[mode], lib, mode, str(size), ASHLAR_FAULT="continue", **variables)
                if not is_as_expected(done, (expected[0], expected[1 if size == 64 else 2])):
                    yield f"{name}, continue, {mode} {size}: status {done.returncode}\n{done.stdout}{done.stderr}"


def order(program, hardened, library):
    def rates(done):
        return {what: int(right) / int(count) for what, right, count in
                re.findall(r"(\w+) (\d+) of (\d+)", done.stdout)}

    plain = rates(run(program, library))
    if plain["fill"] < 0.9 or plain["reuse"] < 0.9:
        yield f"the guessers are bad: they do not know the plain library's order: {plain}"
    for name, lib, variables in editions(hardened, library):
        done = [run(program, lib, **variables, ASHLAR_HARDEN_SHUFFLE="1") for _ in range(4)]
        first = {d.stdout.splitlines()[0] for d in done}
        if len(first) != len(done):
            yield f"{name}: two processes have the same order: {first}"
        reuse = rates(run(program, lib, **variables))["reuse"]
        if reuse > 0.04:
            yield f"{name}: of {reuse} of all allocations it is told which freed block they get"
        for d in done:
            if rates(d)["fill"] > 0.10 or rates(d)["reuse"] > 0.04:
                yield f"{name}: {rates(d)}"


def place(program, hardened, library):
    """Where the system maps everything at the same addresses, the hardened heap lies elsewhere each time."""
    def blocks(lib, **variables):
        # Without the system's own random choice: setarch -R.
        if subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode != 0:
            sys.exit(77)
        done = [subprocess.run(["setarch", "-R", program, "addresses", "64"], capture_output=True, text=True,
                               timeout=60, env={**os.environ, **variables, "LD_PRELOAD": lib}, check=True)
                for _ in range(6)]
        return [tuple(int(a, 16) for a in re.findall(r"0x[0-9a-f]+", d.stdout)) for d in done]

    plain = blocks(library)
    if len(set(plain)) != 1:
        yield f"the system's choice is random after all: {plain}"
    for name, lib, variables in editions(hardened, library):
        found = blocks(lib, **variables)
        if len({code for code, _ in found}) != 1 or len({block for _, block in found}) != len(found):
            yield f"{name}: code and first block lie at {found}"


def settings(program, hardened, library):
    def is_hardened(lib, **variables):
        return "behind" in run(FAULTS, lib, "overflow_1_store", "64", **variables).stderr

    if is_hardened(library) or is_hardened(library, ASHLAR_HARDEN="0"):
        yield "the plain library is hardened"
    if is_hardened(hardened, ASHLAR_HARDEN="0"):
        yield "ASHLAR_HARDEN=0 does not turn the hardened library plain"
    for lib, hard in ((library, False), (hardened, True)):
        if is_hardened(lib, ASHLAR_HARDEN="yes") != hard:
            yield "a wrong value changes what is the default"
        told = run(program, lib, "correct", "64", ASHLAR_HARDEN="yes").stderr
        if told != "ashlar: ASHLAR_HARDEN=yes is ignored: expected 0 or 1\n":
            yield f"of a wrong value it says: {told}"
    # What counts every call takes its place, and its own checks hold.
    done = run(FAULTS, hardened, "double_free", "64", ASHLAR_CHECK="full", ASHLAR_CHECK_STACK_DEPTH="0")
    if "allocated by malloc in thread" not in done.stderr or done.returncode != -6:
        yield f"full checks in the hardened library: {done.stderr}"
    # Guarded blocks are on without being asked for: of a million and more, some.
    done = subprocess.run([program, "write_after_free", "64"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": hardened, "ASHLAR_CHECK_GUARD": "1"}, check=False)
    if "accessed after it was freed" not in done.stderr:
        yield f"guarded blocks in the hardened library: {done.stderr}"
    # Its control socket opens, as in any process.
    with tempfile.TemporaryDirectory() as folder:
        opens = ("import os, sys, time\nkept = [bytes(400000) for _ in range(50)]\n"
                 "for _ in range(100): os.path.exists(sys.argv[1]) and os._exit(0) or time.sleep(0.1)")
        socket = os.path.join(folder, "socket")
        done = subprocess.run([sys.executable, "-c", f"{opens}\nsys.exit(1)", socket], timeout=60, check=False,
                              env={**os.environ, "LD_PRELOAD": hardened, "ASHLAR_CONTROL": socket})
        if done.returncode != 0:
            yield "the hardened library opens no control socket"


def main():
    global FAULTS
    what, program, hardened, library, *FAULTS = sys.argv[1:]
    FAULTS = FAULTS[0] if FAULTS else None
    faults = list({"misuses": misuses, "order": order, "place": place, "settings": settings}[what](program, hardened, library))
    if faults:
        sys.exit("\n".join(faults[:20]))


main()
