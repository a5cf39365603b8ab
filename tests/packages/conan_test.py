#!/usr/bin/env python3
"""Runs the Conan recipe in an empty environment, with a cache of its own: it exports the checkout, builds and packs the
library, and a project takes it from there (packaging/conan/test_package).

Run: conan_test.py --root CHECKOUT --work SCRATCH_FOLDER
Ends with 77 where Conan cannot be had.
"""
import os
import shutil
import subprocess
import sys

from steps import emptied, read_arguments, run


def main() -> None:
    options = read_arguments(__doc__)
    work = emptied(options.work)
    subprocess.run([sys.executable, "-m", "venv", work / "environment"], check=True)
    programs = work / "environment/bin"
    if subprocess.run([programs / "pip", "install", "-q", "conan>=2,<3"], check=False).returncode != 0:
        print("no Conan here (PyPI: conan)")
        sys.exit(77)

    # As a person has it who has cloned the repository, so that nothing of this checkout's builds is used.
    recipe = work / "checkout/packaging/conan"
    subprocess.run(["git", "clone", "-q", options.root, work / "checkout"], check=True)
    environment = {"CONAN_HOME": str(work / "cache"), "PATH": f"{programs}:{os.environ['PATH']}"}
    # No remote: all that it needs is there.
    for command in (["profile", "detect"], ["remote", "disable", "*"], ["create", recipe]):
        said = run(programs / "conan", *command, folder=work, **environment)
    if "conan: 7\n" not in said:
        sys.exit(f"conan: the project that takes the package does not run:\n{said}")
    shutil.rmtree(work)
    print("conan create: built, packed, used")


if __name__ == "__main__":
    main()
