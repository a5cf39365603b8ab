"""Gives the command damaged files: it says what is wrong with them, or reads what is whole. It never crashes or hangs.

usage: mutated_inputs.py ASHLAR SEED MUTANTS PROGRAM [WORD...]

Of PROGRAM there are a trace with stacks, a profile, samples, a certificate of pools and a core file (if gdb is there).
The fuzzers of tests/fuzz give the readers other inputs; here whole commands run as users run them.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

SECONDS = 20
MEMORY = 4 << 30  # of addresses: a damaged length may not ask for all there is
COMMANDS = {
    "a.atrace": ["report --text", "export --symbols", "export --format pprof --force -o out.pb", "export --format text",
                 "tune profile -o out.aprofile", "tune -o out.hpp", "replay", "report -o out.html", "diff other.atrace"],
    "a.aprofile": ["report --text", "tune -o out.hpp", "tune profile -o merged.aprofile"],
    "pools.json": ["tune verify"],
    "core": ["inspect"],
}


def make_inputs(ashlar, program):
    """Returns: which of the files are there, in the current folder."""
    def run(*words):
        subprocess.run([ashlar, *words], check=True, capture_output=True, timeout=100)
    run("record", "--stacks", "-o", "a.atrace", "--", *program)
    shutil.copy("a.atrace", "other.atrace")
    run("tune", "profile", "-o", "a.aprofile", "a.atrace")
    run("tune", "-o", "pools.hpp", "a.atrace")
    if shutil.which("gdb"):
        library = subprocess.run([ashlar, "run", "--", "sh", "-c", "echo $LD_PRELOAD"], check=True, capture_output=True,
                                 text=True, timeout=100).stdout.split()[0]
        subprocess.run(["gdb", "-batch", "-ex", f"set exec-wrapper env LD_PRELOAD={library}", "-ex", "break _exit",
                        "-ex", "run", "-ex", "gcore core", "--args", *program], check=True, capture_output=True, timeout=100)
    return [name for name in COMMANDS if os.path.exists(name)]


def run_command(ashlar, command, file):
    """Returns: its status, and standard error; None where it does not end."""
    try:
        done = subprocess.run(["prlimit", f"--as={MEMORY}", ashlar, *command.split(), str(file)], capture_output=True,
                              timeout=SECONDS, check=False)
        return done.returncode, done.stderr.decode(errors="replace")[-2000:]
    except subprocess.TimeoutExpired:
        return None, f"no end within {SECONDS} s"


def damaged(draw, content):
    """Returns: the bytes with one to four changes of a kind."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        if not data:
            break
        at = draw.randrange(len(data)) if draw.random() < 0.5 else draw.randrange(min(len(data), 4096))
        kind = draw.randrange(6)
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at:at + 8] = draw.choice([b"\xff" * 8, bytes(8), draw.randbytes(8)])
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at:at + draw.randint(1, 64)]
        elif kind == 4:
            data[at:at] = data[at:at + draw.randint(1, 4096)]
        else:
            data[at:at] = draw.randbytes(draw.randint(1, 64))
    return bytes(data)


def main(ashlar, seed, mutants, program, *words):
    ashlar, program = os.path.abspath(ashlar), [os.path.abspath(program), *words]
    draw = random.Random(int(seed))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        inputs = make_inputs(ashlar, program)
        for name in inputs:
            for command in COMMANDS[name]:
                status, said = run_command(ashlar, command, name)
                assert status in (0, 1), f"{command} {name}: {status}, {said}"
        for i in range(int(mutants)):
            name = inputs[i % len(inputs)]
            changed = pathlib.Path("damaged-" + name)
            changed.write_bytes(damaged(draw, pathlib.Path(name).read_bytes()))
            command = draw.choice(COMMANDS[name])
            status, said = run_command(ashlar, command, changed)
            if status is None or status < 0:
                failed += 1
                print(f"mutant {i} of {name}, seed {seed}, {command}: {status}, {said}")
    print(f"{int(mutants) - failed} of {mutants} damaged files were read or refused, of {', '.join(inputs)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
