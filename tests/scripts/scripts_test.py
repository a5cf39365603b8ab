#!/usr/bin/env python3
"""Tests the scripts that users start. Programs that would change the system have stand-ins.

Run: scripts_test.py CHECKOUT WORK_FOLDER
"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(sys.argv[2]).resolve()


def run(script: str, *words: object, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / script, *map(str, words)], env={"PATH": path, "HOME": str(WORK)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def stand_in(folder: pathlib.Path, name: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


class Setup(unittest.TestCase):
    def test_sudo_keeps_the_installation_without_questions(self) -> None:
        programs = WORK / "with sudo"
        stand_in(programs, "dpkg-query", "exit 1")
        stand_in(programs, "id", "echo 1000")
        stand_in(programs, "sudo", 'exec env -i PATH="$PATH" "$@"')  # as its default setting env_reset
        stand_in(programs, "apt-get", f'echo "$1 $DEBIAN_FRONTEND" >>"{programs}/said"')
        stand_in(programs, "cmake", "exit 127")  # not installed, and not among what these packages need
        result = run("scripts/setup.sh", "docs", path=f"{programs}:{os.environ['PATH']}")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("install noninteractive\n", (programs / "said").read_text())

    def told(self, name: str, purpose: str, **programs: str) -> str:
        """What it says where these stand in for programs, and it has to end with 1."""
        folder = WORK / name
        for program, body in programs.items():
            stand_in(folder, program.replace("_", "-"), body)
        result = run("scripts/setup.sh", purpose, path=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(result.returncode, 1, result.stdout)
        return result.stdout.splitlines()[-1]

    def test_an_old_cmake_is_refused_with_the_remedy(self) -> None:
        said = self.told("old cmake", "build", dpkg_query="echo installed", cmake="echo cmake version 3.22.1")
        self.assertIn("version 3.22.1, and 3.25 is needed. A newer one: pip install cmake", said)

    def test_a_failed_installation_is_one_line_with_the_reason(self) -> None:
        said = self.told("no network", "docs", dpkg_query="exit 1", id="echo 1000", sudo='exec env -i PATH="$PATH" "$@"',
                         apt_get='echo progress; echo "E: Failed to fetch it"; echo "E: more"; exit 100')
        self.assertRegex(said, "^setup: apt-get could not install them .* E: Failed to fetch it$")

    def test_another_distribution_is_told_what_to_do(self) -> None:
        programs = WORK / "no apt"
        programs.mkdir(parents=True)
        for name in ("env", "bash", "sort", "grep", "id", "mktemp", "tail", "rm"):
            (programs / name).symlink_to(shutil.which(name) or name)
        result = run("scripts/setup.sh", "docs", path=str(programs))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("no apt-get", result.stdout)
        self.assertIn("doxygen", result.stdout)
        self.assertIn("packaging/README.md", result.stdout)


class Zig(unittest.TestCase):
    def test_without_a_network_it_says_what_is_needed(self) -> None:
        checkout = WORK / "checkout"
        (checkout / "scripts").mkdir(parents=True)
        for name in ("zig.py", "python_environment.py"):
            shutil.copy(ROOT / "scripts" / name, checkout / "scripts")
        result = subprocess.run([sys.executable, checkout / "scripts/zig.py"], text=True, check=False,
                                env={"PATH": os.environ["PATH"], "PIP_INDEX_URL": "http://127.0.0.1:9/",
                                     "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("zig: it was not installed: it needs the network", result.stdout)
        self.assertNotIn("Traceback", result.stdout)


class Packaging(unittest.TestCase):
    def test_a_release_replaces_no_other_files(self) -> None:
        folder = WORK / "my folder"
        folder.mkdir(parents=True)
        (folder / "notes").write_text("precious")
        (folder / "ashlar-0.0.1.tar.gz").touch()
        result = run("packaging/make_release.sh", folder, path=os.environ["PATH"])
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(str(folder / "notes"), result.stdout)
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["ashlar-0.0.1.tar.gz", "notes"])

    def test_a_crate_lies_beside_other_files(self) -> None:
        folder = WORK / "crates"
        (folder / "ashlar").mkdir(parents=True)
        (folder / "ashlar/notes").write_text("precious")
        programs = WORK / "with cargo"
        stand_in(programs, "cargo", """while [ $# -gt 1 ]; do
  [ "$1" = --target-dir ] && target=$2
  [ "$1" = --manifest-path ] && version=$(sed -n 's/^version = "\\(.*\\)"/\\1/p' "$2")
  shift
done
mkdir -p "$target/package" && echo packed >"$target/package/ashlar-$version.crate\"""")
        for _ in range(2):
            result = run("packaging/make_crate.sh", folder, path=f"{programs}:{os.environ['PATH']}")
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertEqual(pathlib.Path(result.stdout.splitlines()[-1]).read_text(), "packed\n")
        self.assertEqual((folder / "ashlar/notes").read_text(), "precious")


class Amalgamation(unittest.TestCase):
    def test_a_header_that_would_stand_twice_is_named(self) -> None:
        spec = importlib.util.spec_from_file_location("amalgamate", ROOT / "scripts/amalgamate.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        whole = module.Amalgamation()
        whole.once("ashlar/core/bits.hpp", True)
        with self.assertRaisesRegex(SystemExit, "ashlar/core/bits.hpp is included"):
            whole.once("ashlar/core/bits.hpp", False)


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    sys.dont_write_bytecode = True
    unittest.main(argv=sys.argv[:1])
