#!/usr/bin/env python3
"""Runs the Conan recipe in an empty environment, with a cache of its own: it exports the checkout, builds and packs the
library, and a project takes it from there (packaging/conan/test_package).

Run: conan_test.py --root CHECKOUT --work SCRATCH_FOLDER
Ends with 77 where Conan cannot be had.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    options = parser.parse_args()
    work = options.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", work / "environment"], check=True)
    programs = work / "environment/bin"
    if subprocess.run([programs / "pip", "install", "-q", "conan>=2,<3"], check=False).returncode != 0:
        print("no Conan here (PyPI: conan)")
        sys.exit(77)

    # As a person has it who has cloned the repository, so that nothing of this checkout's builds is used.
    recipe = work / "checkout/packaging/conan"
    subprocess.run(["git", "clone", "-q", options.root.resolve(), work / "checkout"], check=True)
    environment = {**os.environ, "CONAN_HOME": str(work / "cache"), "PATH": f"{programs}:{os.environ['PATH']}"}
    # No remote: all that it needs is there.
    for command in (["profile", "detect"], ["remote", "disable", "*"], ["create", recipe]):
        result = subprocess.run([programs / "conan", *command], cwd=work, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if result.returncode != 0:
            sys.exit(f"conan {' '.join(map(str, command))} ended with {result.returncode}:\n{result.stdout}")
    if "conan: 7\n" not in result.stdout:
        sys.exit(f"conan: the project that takes the package does not run:\n{result.stdout}")
    shutil.rmtree(work)
    print("conan create: built, packed, used")


if __name__ == "__main__":
    main()
