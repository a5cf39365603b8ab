"""Runs one program alone, and under commands that change nothing of what it does: status and output must be the same.

usage: commands.py ASHLAR SOURCE PROGRAM [NAME]

Where its comment (outside.py) has a line "// Editions:", it is not run on another edition than the default.
"""
import os
import subprocess
import sys
import tempfile

import outside

COMMANDS = [["record", "-o", "trace"], ["record", "--stacks", "-o", "trace"], ["run"]]
OF_EDITIONS = [["run", "--hardened"], ["run", "--exact"]]
SECONDS = 30


def run(command):
    """Returns: (status, standard output)."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        return (done.returncode, done.stdout), done.stderr


def main(ashlar, source, *program):
    limited = outside.directive(outside.comment_of(source, *program[1:]), "Editions")
    commands = COMMANDS + ([] if limited else OF_EDITIONS)
    expected, _ = run(program)
    if expected[0] == 77:
        return 77
    failed = 0
    for command in commands:
        got, said = run([ashlar, *command, "--", *program])
        if got != expected:
            print(f"{' '.join(command)}: {got}, where the program alone has {expected}\n{said}")
            failed += 1
    print(f"{os.path.basename(program[-1])}: {len(commands) - failed} of {len(commands)} commands as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
