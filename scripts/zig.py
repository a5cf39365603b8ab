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


def install(folder: pathlib.Path, requirements: pathlib.Path) -> bool:
    """Makes a virtual environment with what a file of requirements names. Returns: whether it had to be made."""
    installed = folder / "installed.txt"
    if installed.is_file() and installed.read_text() == requirements.read_text():
        return False
    print(f"{requirements.stem.removesuffix('_requirements')}: installing into {folder.relative_to(ROOT)}", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements], check=True)
    shutil.copy(requirements, installed)
    return True


def main() -> None:
    if install(FOLDER, REQUIREMENTS):
        compiler = next(FOLDER.glob("lib/python*/site-packages/ziglang/zig"))
        (FOLDER / "zig").symlink_to(compiler.relative_to(FOLDER))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"zig: it was not installed: it needs the network, and venv (Debian: python3-venv): {error}")
