#!/usr/bin/env python3
"""Builds the command and puts it, with its libraries, into a Python wheel. Prints the wheel's path.

The command is linked statically with all but the C library. The wheel's tag names the oldest glibc that
has every symbol of it: it is read from the files that were built.

Run: packaging/make_wheel.py [-j JOBS] [FOLDER]     FOLDER is build/packages, with what the packages have compiled
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import zipfile

from third_party import ROOT, linked, package_of

NEEDED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}  # all of them glibc's
COMPONENTS = ("ashlar_malloc", "ashlar_tools")


def run(*command: object) -> str:
    return subprocess.run([str(c) for c in command], cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def version_of_project() -> str:
    return re.search(r"project\(ashlar VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def build(folder: pathlib.Path, jobs: int) -> None:
    subprocess.run(["cmake", "--preset", "packages", "-B", folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "ashlar_installed", "ashlar_static", "-j", str(jobs)],
                   cwd=ROOT, check=True, stdout=sys.stderr)  # its progress
    archives = set(re.findall(r"/usr/\S+\.a\b", (folder / "build.ninja").read_text()))
    known = {package for library in linked() for package in library.packages}
    for archive in sorted(archives):
        if package_of(archive) not in known:
            sys.exit(f"wheel: {archive} is linked into the command; THIRD_PARTY.md does not have its package")


def oldest_glibc(files: list[pathlib.Path]) -> str:
    """Returns: the newest of the versions of glibc's symbols that these programs and libraries ask for."""
    minor = 17  # no tag names an older one
    for file in files:
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-dW", file)))
        beyond = {name for name in needed - NEEDED if not name.startswith("ld-linux")}
        if beyond:
            sys.exit(f"wheel: {file.name} needs {', '.join(sorted(beyond))}, which a machine may not have")
        symbols = run("readelf", "-VW", file).partition("Version needs section")[2]
        minor = max([minor, *(int(m) for m in re.findall(r"\bGLIBC_2\.(\d+)", symbols))])
    return f"2_{minor}"


class Wheel:
    """The zip file: entries of one date, and a record of each. It has its name once it is whole."""

    def __init__(self, path: pathlib.Path, information: str, date: int) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self.zip = zipfile.ZipFile(self.part, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.information = information
        self.date = time.gmtime(max(date, 315532800))[:6]  # a zip file knows no year before 1980
        self.record = ""

    def add(self, name: str, content: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, self.date)
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        self.record += f"{name},sha256={digest},{len(content)}\n"

    def close(self) -> None:
        name = f"{self.information}/RECORD"
        self.record += f"{name},,\n"
        self.zip.writestr(zipfile.ZipInfo(name, self.date), self.record)
        self.zip.close()
        self.part.replace(self.path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=ROOT / "build/packages")
    options = parser.parse_args()
    folder = options.folder.resolve()
    date = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))

    build(folder, options.jobs)
    prefix = folder / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    for component in COMPONENTS:
        run("cmake", "--install", folder, "--prefix", prefix, "--component", component, "--strip")
    run("install", "--strip", folder / "static/ashlar", prefix / "bin/ashlar")
    shutil.rmtree(prefix / "share")  # `ashlar help --pages` and `--completion` write the same
    files = sorted(path for path in prefix.rglob("*") if path.is_file())

    version = version_of_project()
    tag = f"py3-none-manylinux_{oldest_glibc(files)}_{os.uname().machine}"
    information = f"ashlar-{version}.dist-info"
    for old in folder.glob("ashlar-*.whl"):
        old.unlink()
    path = folder / f"ashlar-{version}-{tag}.whl"
    wheel = Wheel(path, information, date)
    for source in ("__init__.py", "__main__.py"):
        wheel.add(f"ashlar/{source}", (ROOT / "packaging/wheel" / source).read_bytes())
    for file in files:
        wheel.add(f"ashlar/{file.relative_to(prefix)}", file.read_bytes(), os.access(file, os.X_OK))
    wheel.add(f"{information}/METADATA", (
        f"Metadata-Version: 2.1\nName: ashlar\nVersion: {version}\n"
        "Summary: Runs, records and tunes programs on the ashlar allocator\n"
        "License: MIT; the libraries inside have licenses of their own\n"
        "Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n"
        "`ashlar run -- PROGRAM` runs a program on ashlar's malloc. `ashlar help` lists the commands.\n").encode())
    wheel.add(f"{information}/WHEEL", (
        f"Wheel-Version: 1.0\nGenerator: ashlar {version}\nRoot-Is-Purelib: false\nTag: {tag}\n").encode())
    wheel.add(f"{information}/entry_points.txt", b"[console_scripts]\nashlar = ashlar.__main__:main\n")
    wheel.add(f"{information}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.add(f"{information}/licenses/uplot", (ROOT / "third_party/uplot/LICENSE").read_bytes())
    for library in linked():
        for package in library.packages:
            text = pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()
            wheel.add(f"{information}/licenses/{package}", text)
    wheel.close()
    print(path)


if __name__ == "__main__":
    main()
