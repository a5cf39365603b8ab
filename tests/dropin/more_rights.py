#!/usr/bin/env python3
"""A process with more rights than its caller (set-user-ID) opens no file that the caller names.

Usage: more_rights.py PROGRAM FOLDER       PROGRAM: one that ashlar-malloc.o is part of. 77: no such process can be had.
"""
import os
import shutil
import subprocess
import sys

OTHER = 65534  # any user but this one
SECRET = "secret-of-another-user"


def fail(text):
    print(f"more_rights.py: {text}", file=sys.stderr)
    sys.exit(1)


def main():
    program, folder = sys.argv[1:]
    if os.geteuid() != 0:
        sys.exit(77)
    os.makedirs(folder, exist_ok=True)
    own = os.path.join(folder, "program")
    shutil.copyfile(program, own)
    os.chown(own, OTHER, OTHER)
    os.chmod(own, 0o4755)
    # The program's user may write and read here, whoever may enter the folders above.
    open_folder = "/dev/fd/{}"
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.chmod(folder, 0o777)
    place = open_folder.format(at)
    with open(os.path.join(folder, "secret"), "w", encoding="utf-8") as secret:
        secret.write(SECRET + "\n")
    written = [f"{place}/{name}" for name in ("fault", "stats", "leaks")]
    for path in written:
        if os.path.exists(path):
            os.remove(path)
    variables = dict(zip(("ASHLAR_FAULT_FILE", "ASHLAR_STATS_FILE", "ASHLAR_LEAKS_FILE"), written),
                     ASHLAR_CONFIG=f"{place}/secret")
    run = subprocess.run([own, "16", "112", "1152"], env={**os.environ, **variables}, capture_output=True, text=True,
                         pass_fds=[at], check=False)
    if "ASHLAR_FAULT_FILE" not in run.stderr:  # the file system, or the system, gives it no other rights
        print("skipped: the process has no other rights")
        sys.exit(77)
    if run.returncode != 0:
        fail(f"ended with {run.returncode}:\n{run.stderr}")
    if SECRET in run.stderr:
        fail(f"it told what is in a file that its caller named:\n{run.stderr}")
    for variable in ("ASHLAR_STATS_FILE", "ASHLAR_LEAKS_FILE", "ASHLAR_CONFIG"):
        if f"ashlar: {variable}=" not in run.stderr:
            fail(f"it does not say that it ignores {variable}:\n{run.stderr}")
    if there := [path for path in written if os.path.exists(path)]:
        fail(f"it wrote {there}")
    print("as expected")


main()
