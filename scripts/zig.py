#!/usr/bin/env python3
"""Installs zig's compiler into build/zig, for the ports that it builds (cmake/port.cmake).

It comes from the Python Package Index, in the version of scripts/port_requirements.txt. build/zig/zig is the compiler.
Nothing is done where that version is there.
"""
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/zig"
REQUIREMENTS = ROOT / "scripts/port_requirements.txt"


def main() -> None:
    installed = FOLDER / "installed.txt"
    if installed.is_file() and installed.read_text() == REQUIREMENTS.read_text():
        return
    print(f"zig: installing it into {FOLDER.relative_to(ROOT)}", flush=True)
    venv.create(FOLDER, with_pip=True, clear=True)
    subprocess.run([FOLDER / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS],
                   check=True)
    compiler = next(FOLDER.glob("lib/python*/site-packages/ziglang/zig"))
    (FOLDER / "zig").symlink_to(compiler.relative_to(FOLDER))
    shutil.copy(REQUIREMENTS, installed)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"zig: it was not installed: it needs the network, and venv (Debian: python3-venv): {error}")
