#!/usr/bin/env python3
"""What all commands have in common: names, typos, --json, "-", --force, colours, and what bad input is told.

Each habit is tried on every command that can have it: the commands and options are those of --help.
LINES and INPUTS say how a command is called; a command that neither has is an error.

Run: habits_test.py COMMAND SCRATCH_FOLDER LIBRARY, the latter empty where there is none to preload
"""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import pprof  # noqa: E402  # pylint: disable=wrong-import-position

TRACE = """ashlar-trace-text 1
header program /bin/true
header arguments true\\00
header pid 7
header ticks_per_second 1000000000
module 0x1000 0x2000 0x0 /bin/true
stack 1 0x1500
1000000 1 malloc 0x10 24 stack=1
2000000 1 malloc 0x80 4000 stack=1
3000000 1 free 0x10
4000000 1 free 0x80
"""
FAULT = ('{"ashlar": "fault", "kind": "double_free", "message": "the block is free already (double free)", '
         '"call": "free", "address": "0x1010", "action": "abort", "pid": 7, "thread": 7}\n')
FOREIGN = "years of work\n"
OF_LIBRARIES = re.compile(r"json\.exception|parse_error|type_error|what\(\)|std::|basic_|CLI::|filesystem error|regex|"
                          r"terminate|Could not convert|\[json|stoi|invalid_argument|out_of_range")
# By command: a line that has --json, and one that writes by -o. "run" and "check" run programs: {library} they need.
JSON_LINES = {"report": "--text a.atrace", "leaks": "--trace a.atrace", "diff": "a.atrace b.atrace", "check": "--log log",
              "ctl": "", "run": "-- true", "compare": "-n 1 --warmup 0 --only system -- true",
              "replay": "-n 1 --on system a.atrace", "inspect": None}  # tests/heap_image has processes
OUTPUT_LINES = {"report": "a.atrace", "diff": "a.atrace b.atrace", "export": "--format text a.atrace", "tune": "a.atrace",
                "tune profile": "a.atrace", "compare": "-n 1 --warmup 0 --only system -- true",
                "record": None, "leaks": None}  # standard output is the program's
# Lines that read a file, which is the last word.
INPUT_LINES = ("report --text --json a.atrace", "report --text a.aprof", "report --json a.atrace", "leaks --trace a.atrace",
               "diff --json b.atrace a.atrace", "check --log log", "compare --summary compare.json", "replay -n 1 --on system a.atrace",
               "tune a.atrace", "tune verify pools.json", "tune check a.atrace --against pools.json",
               "tune profile -o out.aprof a.aprof", "tune profile -o out.aprof --list names", "export --format text a.atrace",
               "export --from-text a.txt", "export --format pprof a.atrace", "inspect core.7")
failures: list[str] = []


def ashlar(*words: str, stdin: str | None = None, **more: str) -> subprocess.CompletedProcess:
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL  # pylint: disable=consider-using-with
    return subprocess.run([COMMAND, *words], env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}, stdin=source,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=100, encoding="latin-1")


def expect(holds: bool, line: object, why: str, done: subprocess.CompletedProcess | None = None) -> None:
    if not holds:
        failures.append(f"{line}: {why}" + (f"\n  {done.returncode}\n  {done.stdout[:300]}\n  {done.stderr[:600]}" if done else ""))


def commands() -> dict[str, list[str]]:
    """The long options of each command, and of each part of one."""
    overview = ashlar("help").stdout
    groups = re.findall(r"^\w[\w ]+:\n(?=  [a-z]+  )", overview, re.MULTILINE)
    names = re.findall(r"^  ([a-z]+)  ", overview, re.MULTILINE)
    expect(len(groups) == 4 and len(names) <= 14, "ashlar help", f"{len(names)} commands in {len(groups)} groups")
    names += re.findall(r"^  ashlar (tune [a-z]+)  ", ashlar("help", "tune").stdout, re.MULTILINE)
    found = {}
    for name in names:
        text = ashlar(*name.split(), "--help").stdout
        expect(f"Usage: ashlar {name}" in text and "Example" in text, name, "has no help")
        options = text.partition("\nOptions:\n")[2].partition("\n\n")[0]
        found[name] = re.findall(r"^  (?:-\w,)?(--[a-z-]+)", options, re.MULTILINE)
    return found


def try_names(all_options: dict[str, list[str]]) -> None:
    for name, options in all_options.items():
        words = name.split()
        for typo in (words[-1][:-1], words[-1][:1] + words[-1][2] + words[-1][1] + words[-1][3:]):
            done = ashlar(*words[:-1], typo)
            expect(done.returncode == 2 and f"did you mean '{words[-1]}'?" in done.stderr, name, "no suggestion", done)
        for option in options:
            done = ashlar(*words, option[:-1])
            expect(done.returncode == 2 and f"did you mean '{option}'?" in done.stderr, f"{name} {option}", "no suggestion", done)
    done = ashlar("report", "--text", "a.atrace", "b.atrace")
    expect(done.returncode == 2 and "ashlar diff a.atrace b.atrace" in done.stderr, "report --text A B", "says no remedy", done)


def is_json(text: str) -> bool:
    try:
        return bool(json.loads(text))
    except ValueError:
        return bool([json.loads(line) for line in text.splitlines() if line.startswith("{")])


def try_files(all_options: dict[str, list[str]], has_library: bool) -> None:
    file = pathlib.Path("made")
    for name, options in all_options.items():
        for option, lines in (("--json=", JSON_LINES), ("--output=", OUTPUT_LINES)):
            if option.strip("=") not in options:
                continue
            if name not in lines:
                expect(False, name, f"this test has no line with {option}")
            elif lines[name] is not None and (has_library or name != "run"):
                first, *rest = lines[name].split() or [""]
                words = [*name.split(), "WHERE", *([first, *rest] if first else [])]
                at = len(name.split())
                whole = [*words[:at], option + "-", *words[at + 1:]]
                file.unlink(missing_ok=True)
                told = ashlar(*whole)
                written = ashlar(*words[:at], f"{option}{file}", *words[at + 1:])
                content = file.read_text("latin-1") if file.exists() else ""
                expect(written.returncode in (0, 1) and told.returncode == written.returncode, whole, "fails", told)
                if option == "--json=":
                    alone = ashlar(*words[:at], "--json", *words[at + 1:])
                    expect(is_json(told.stdout) and is_json(content) and is_json(alone.stdout), whole, "no JSON", told)
                    wrong = ashlar(*words[:at], "--json", "found.json", *words[at + 1:])
                    expect(wrong.returncode == 2 and "--json=found.json" in wrong.stderr, whole, "--json FILE", wrong)
                elif name != "compare":
                    expect(bool(content) and told.stdout == content, whole, "differs from the file", told)
                file.write_text(FOREIGN)
                refused = ashlar(*words[:at], f"{option}{file}", *words[at + 1:])
                expect(refused.returncode == 2 and "--force" in refused.stderr and file.read_text() == FOREIGN, whole,
                       "replaced what is not ashlar's", refused)
                forced = ashlar(*words[:at], "--force", f"{option}{file}", *words[at + 1:])
                expect(forced.returncode == written.returncode and FOREIGN not in file.read_text("latin-1"), whole, "--force", forced)


def try_formats() -> None:
    """--for FORMAT: a reader of each format reads it, and FILE has what standard output has."""
    for name in ("check", "leaks", "diff", "report"):
        for kind in ("sarif", "junit", "github", *(["benchmark"] if name == "report" else [])):
            words = [name, *JSON_LINES[name].replace("--text", "").split()]
            told = ashlar(*words, f"--for={kind}")
            written = ashlar(*words, "--for", f"{kind}=made.{kind}")
            expect(told.returncode == written.returncode == (name == "check"), [*words, kind], "fails", told)
            expect(pathlib.Path(f"made.{kind}").read_text("latin-1") == told.stdout, [*words, kind], "differs from the file", told)
            if kind == "junit":
                suites = xml.etree.ElementTree.fromstring(told.stdout)
                cases = suites.findall("testsuite/testcase")
                expect(suites.tag == "testsuites" and cases and all(case.get("name") and case.get("classname") for case in cases)
                       and suites[0].get("tests") == str(len(cases))
                       and suites[0].get("failures") == str(len(suites.findall("testsuite/testcase/failure"))),
                       [*words, kind], "no JUnit", told)
            elif kind == "github":
                expect(re.fullmatch(r"(::(error|warning|notice) (file=[^:,]+,)?(line=\d+,)?title=ashlar [^:,]+::.+\n)*", told.stdout)
                       is not None, [*words, kind], "no annotations", told)
            else:
                found = json.loads(told.stdout)
                expect(found["version"] == "2.1.0" if kind == "sarif" else all(value["unit"] for value in found),
                       [*words, kind], "not its JSON", told)
    done = ashlar("export", "--format", "pprof", "a.atrace", "-o", "made.pb")
    profile = pprof.Profile(pathlib.Path("made.pb").read_bytes(), [*pprof.OF_SAMPLES, "peak_space"])
    expect(profile.sum("alloc_space") == profile.sum("peak_space") == 4024 and profile.sum("alloc_objects") == 2,
           "export --format pprof", "not its figures", done)


def try_inputs() -> None:
    for line in INPUT_LINES:
        *words, file = line.split()
        of_file = ashlar(*words, file)
        if file != "core.7":
            of_input = ashlar(*words, "-", stdin=file)
            piped = subprocess.run(f"cat {file} | '{COMMAND}' {' '.join(words)} -", shell=True, check=False, capture_output=True,
                                   encoding="latin-1")
            expect(of_file.returncode == of_input.returncode == piped.returncode, line, "ends otherwise by '-'", of_input)
            if not line.startswith(("replay", "tune verify")):
                same = of_file.stdout.replace(file, "/dev/stdin")
                plain = [re.sub(r"[\d.,]+ (?:ms|ns)", "T", text) for text in (same, of_input.stdout, piped.stdout)]
                expect(plain[0] == plain[1] == plain[2], line, "says something else by '-'", of_input)
        for number, bad in enumerate((b"", b"\x00\x89garbage", b"[1", b"{}", b'{"ashlar": 1}', b"[]", b'{"inputs": 3, "classes": "x"}')):
            pathlib.Path("bad").write_bytes(bad)
            done = ashlar(*words, "bad")
            expect(done.returncode in (0, 1, 2) and not OF_LIBRARIES.search(done.stderr), line, f"bad input {number}", done)


def errors_on_terminal(**environment: str) -> str:
    mine, theirs = pty.openpty()
    subprocess.run([COMMAND, "nonesuch"], stderr=theirs, stdin=subprocess.DEVNULL, check=False,
                   env={**os.environ, "TERM": "xterm", **environment})
    said = os.read(mine, 4096).decode()
    os.close(mine)
    os.close(theirs)
    return said


def main() -> None:
    folder = pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    os.environ.pop("NO_COLOR", None)
    pathlib.Path("a.txt").write_text(TRACE)
    pathlib.Path("log").write_text(FAULT)
    pathlib.Path("names").write_text("a.aprof\n")
    pathlib.Path("core.7").write_text("no core")
    for line in ("export --from-text a.txt -o a.atrace", "export --from-text a.txt -o b.atrace", "tune profile a.atrace -o a.aprof",
                 "tune a.atrace --certificate pools.json",
                 "compare -n 1 --warmup 0 --only system --json=compare.json -- true"):
        done = ashlar(*line.split())
        expect(done.returncode == 0, line, "fails", done)
    all_options = commands()
    try_names(all_options)
    try_files(all_options, bool(sys.argv[3]))
    try_formats()
    try_inputs()
    expect("\x1b[" in errors_on_terminal() and "\x1b[" not in errors_on_terminal(NO_COLOR="1") + errors_on_terminal(TERM="dumb")
           and "\x1b[" not in ashlar("nonesuch").stderr, "colours", "are not for a terminal alone")
    if failures:
        sys.exit("\n".join(failures))
    print(f"habits: {len(all_options)} commands and parts have them")


COMMAND = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""
if __name__ == "__main__":
    main()
