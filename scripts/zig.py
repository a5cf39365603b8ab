#!/usr/bin/env python3
"""Installs zig's compiler into build/zig, for the ports that it builds (cmake/port.cmake).

It comes from the Python Package Index. build/zig/zig is the compiler.
Nothing is done where that version is there.
"""
import pathlib
import subprocess
import sys

from python_environment import install

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/zig"
PACKAGE = "ziglang==0.17.1"


def main() -> None:
    install(FOLDER, PACKAGE)
    if not (FOLDER / "zig").exists():
        compiler = next(FOLDER.glob("lib/python*/site-packages/ziglang/zig"))
        (FOLDER / "zig").symlink_to(compiler.relative_to(FOLDER))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"zig: it was not installed: it needs the network, and venv (Debian: python3-venv): {error}")
