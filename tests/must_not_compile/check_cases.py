#!/usr/bin/env python3
"""Compiles a file of misuses: without any it must compile; with each one it must fail, and say why.

In the file, a line `#if MISUSE == 3  // says: REGEX` opens misuse 3; `#if` opens the first and `#elif` the others, and
`#endif` ends the last. The numbers run from 1 without gaps.

All are compiled at once first, each in a namespace of its own; those whose error is not among what the compiler says of
their own lines, and with --alone all of them, are compiled one at a time.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

OPENING = re.compile(r"#(?:el)?if MISUSE == (\d+) +// says: (.+)")
# Where a compiler begins to speak of its next error: gcc tells the context before it, clang afterwards.
CONTEXT = re.compile(r"In file included from|\s+from |\S+: (In|At) |\S+: +(recursively )?required ")


class Unsound(Exception):
    """The file itself is not as it must be, so that nothing it proves would mean much."""


def read_cases(path):
    """Returns: the lines before the cases, and for each case its first line's number, its text and what it says."""
    before, cases = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.match(r"#(el)?if MISUSE", line):
            opening = OPENING.fullmatch(line)
            if not opening or int(opening[1]) != len(cases) + 1:
                raise Unsound(f"expected '#if MISUSE == {len(cases) + 1}  // says: REGEX', found '{line}'")
            cases.append((number + 1, [], opening[2]))
        elif line == "#endif" and cases:
            return before, cases
        else:
            (cases[-1][1] if cases else before).append(line)
    raise Unsound("no misuse with an #endif behind it: the check would prove nothing")


def segments(output):
    """The compiler's output, cut so that each part has one error and all that is told of it."""
    parts, context = [[]], []
    for line in output.splitlines():
        if CONTEXT.match(line):
            context.append(line)
        elif ": error: " in line:
            parts.append([*context, line])
            context = []
        else:
            parts[-1] += [*context, line]
            context = []
    return ["\n".join(part) for part in parts[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alone", action="store_true", help="each misuse by itself")
    parser.add_argument("source", type=Path)
    parser.add_argument("compiler", nargs=argparse.REMAINDER, help="the compiler and its flags")
    options = parser.parse_args()

    def compile(text):
        done = subprocess.run([*options.compiler, "-x", "c++", "-fsyntax-only", "-"], input=text, capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stderr

    before, cases = read_cases(options.source)
    name = str(options.source)

    def text_of(chosen):
        lines = [f'#line 1 "{name}"', *before]
        for number, body, _ in chosen:
            lines += [f"namespace misuse_at_{number} {{", f'#line {number} "{name}"', *body, "}"]
        return "\n".join(lines) + "\n"

    status, output = compile(text_of([]))
    if status != 0:
        raise Unsound(f"does not compile without a misuse, so its failures prove nothing:\n{output}")
    open_cases = list(enumerate(cases, 1))
    if not options.alone:
        said = segments(compile(text_of(cases))[1])

        def is_said(case):
            first, body, says = case
            own = re.compile(rf"{re.escape(name)}:(\d+):")
            return any(re.search(says, part) and any(first <= int(line) < first + len(body) for line in own.findall(part))
                       for part in said)
        open_cases = [(number, case) for number, case in open_cases if not is_said(case)]
    failures = []
    for number, case in open_cases:
        status, output = compile(text_of([case]))
        if status == 0:
            failures.append(f"misuse {number} compiles: {case[2]}")
        elif not re.search(case[2], output):
            failures.append(f"misuse {number} fails without saying '{case[2]}':\n{output}")
    print(*failures, f"{len(cases) - len(failures)} misuses of {name} do not compile, {len(open_cases)} of them tried alone",
          sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unsound as fault:
        sys.exit(f"must_not_compile: {fault}")
