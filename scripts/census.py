#!/usr/bin/env python3
"""Counts what a newcomer meets: lines of code, tracked files, settings, commands, presets, pages and their words.

Lines of C, C++ and Python are those with code: no blank ones and no comments. A test is what stands in tests/ or is
called *_test.*. Usage: scripts/census.py [ROOT]: the tracked files of this checkout, or of another one.
"""
import json
import pathlib
import re
import subprocess
import sys

NO_CODE = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)
SETTING = re.compile(r'"(ASHLAR_[A-Z_]+)=?"')


def code_lines(name: str, text: str) -> int:
    text = re.sub(r"^\s*#.*", "", text, flags=re.M) if name.endswith(".py") else \
        NO_CODE.sub(lambda found: found[1] or "", text)
    return sum(bool(line.strip()) for line in text.splitlines())


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1]).resolve()
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout.decode().split("\0")
    files = {name: (root / name).read_text(errors="replace") for name in names if (root / name).is_file()}
    lines = {name: code_lines(name, text) for name, text in files.items() if name.endswith((".c", ".h", ".cpp", ".hpp", ".py"))}
    tests = {name for name in lines if name.startswith("tests/") or "_test." in name}
    library = {name for name in lines if name.startswith("ashlar/")} - tests
    tools = {name for name in lines if name.startswith("tools/")} - tests
    presets = json.loads(files["CMakePresets.json"])["configurePresets"]
    suites = ";".join(p.get("cacheVariables", {}).get("ASHLAR_TEST_SUITES") or "" for p in presets).split(";")
    commands = re.search(r"all_commands\[\].*?= \{(.*?)\};", files["tools/cli/commands/commands.hpp"], re.S)
    pages = {name: text for name, text in files.items() if name.endswith(".md")}
    for what, count in (
        ("code lines of the library", sum(lines[name] for name in library)),
        ("code lines of the tools", sum(lines[name] for name in tools)),
        ("code lines of tests", sum(lines[name] for name in tests)),
        ("code lines in all", sum(lines.values())),
        ("tracked files", len(files)),
        ("environment variables", len({v for name in library | tools for v in SETTING.findall(files[name])})),
        ("commands", len(re.findall(r"\badd_(?!tune_)\w+", commands[1] if commands else ""))),
        ("visible presets", sum(not p.get("hidden") for p in presets)),
        ("suites of presets", len(set(suites) - {""})),
        ("decisions", sum(re.match(r"docs/decisions/\d", name) is not None for name in pages)),
        ("words of markdown", sum(len(text.split()) for text in pages.values())),
    ):
        print(f"{count:9,}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
