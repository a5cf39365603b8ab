"""Runs one program on the system's allocator, and on each edition of ashlar or under commands that change nothing of what it
does: status and output must be the same.

usage: outside.py [--default|--others] SOURCE LIBRARY|ASHLAR PROGRAM [NAME]      the default edition alone, or all but that

NAME is one of the programs of SOURCE. Its comment, `// NAME: ...`, may have these lines, or the first one where SOURCE is one
program:
  // Editions: NAME ...         only these (EDITIONS below), for what others rightly do otherwise;
                             no command runs it on another than the default
  // Repeat: N                  for what fails now and then
The program prints only what is the same in every run, to standard output; standard error is shown, not compared.
Status 77 on the system's allocator: it cannot run here.
"""
import os
import re
import subprocess
import sys
import tempfile

EDITIONS = {
    "default": {},
    "full": {"ASHLAR_CHECK": "full"},
    "guarded": {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_GUARD": "1", "OUTSIDE_SHARE": "4"},
    "hardened": {"ASHLAR_HARDEN": "1"},
    "samples": {"ASHLAR_SAMPLE": "64K", "ASHLAR_SAMPLE_FILE": "samples.pb"},
    "background": {"ASHLAR_BACKGROUND": "1"},
}
COMMANDS = [["record", "-o", "trace"], ["record", "--stacks", "-o", "trace"], ["run"]]
OF_EDITIONS = [["run", "--hardened"], ["run", "--exact"]]
SECONDS = 40  # on one allocator; a hang is a failure like any other


def comment_of(source_file, name=""):
    with open(source_file, encoding="utf-8") as file:
        source = file.read()
    return re.match(r"(//.*\n)*", source[source.index(f"// {name}: ") if name else 0:]).group()


def directive(comment, name):
    found = re.search(rf"^// {name}: (.*)$", comment, re.MULTILINE)
    return found.group(1).split() if found else []


def run(command, extra):
    """Returns: (status, standard output), or a sentence where the program did not end."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(command, env={**os.environ, **extra}, cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired as late:
            return f"no end within {SECONDS} s, after {late.stdout!r}", late.stderr or b""
        return (done.returncode, done.stdout.decode(errors="replace")), done.stderr


def ways(which, other, limited):
    """Returns: name -> (words before the program, environment)."""
    if os.path.basename(other) == "ashlar":
        return {" ".join(words): ([other, *words, "--"], {}) for words in COMMANDS + ([] if limited else OF_EDITIONS)}
    return {name: ([], {**EDITIONS[name], "LD_PRELOAD": other}) for name in limited or EDITIONS
            if not which or (name == "default") == (which == "--default")}


def main(*words):
    which = words[0] if words[0].startswith("--") else ""
    source_file, other, *program = words[1:] if which else words
    comment = comment_of(source_file, *program[1:])
    all_ways = ways(which, other, directive(comment, "Editions"))
    repeat = int((directive(comment, "Repeat") or ["1"])[0])
    expected, said = run(program, {})
    if expected[0] == 77:
        print(expected[1] + said.decode(errors="replace"))
        return 77
    failed = []
    for name, (words, extra) in all_ways.items():
        for _ in range(repeat):
            got, said = run([*words, *program], extra)
            if got != expected:
                print(f"{name}: {got}, where the system's allocator has {expected}\n{said.decode(errors='replace')}")
                failed.append(name)
                break
    print(f"{os.path.basename(program[-1])}: {len(all_ways) - len(failed)} of {len(all_ways)} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
