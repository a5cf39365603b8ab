#!/usr/bin/env python3
"""Compiles each program of sentences.txt with each compiler: it must fail with the sentence.

The whole sentence is compared, from the words that the compiler puts before it to the line's end,
with the first error. Of a program that says -std it must be the last, but for where the compiler stops.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path


def read_cases(path):
    """Returns: of each case its name, its flags, its sentence and its program."""
    cases = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            cases.append([line[3:], [], None, []])
        elif not cases:
            continue
        elif line.startswith("> "):
            cases[-1][2] = line[2:]
        elif line.startswith("-"):
            cases[-1][1] += line.split()
        else:
            cases[-1][3].append(line)
    if not cases or any(sentence is None for _, _, sentence, _ in cases):
        sys.exit(f"{path}: no cases, or one without a sentence: the check would prove nothing")
    return cases


def sentence_of(error, wanted):
    """Returns: the error without what the compiler puts around a sentence."""
    text = error.split("error: ", 1)[1].strip()
    if text.endswith(wanted) and re.fullmatch(r"static assertion failed(?: due to requirement '.*')?: ",
                                              text[:-len(wanted)]):
        return wanted
    text = re.sub(r"^.* is deprecated: (.*) \[-Werror.*\]$", r"\1", text)
    return text.removeprefix("#error ").strip('"')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("compilers", nargs="+")
    options = parser.parse_args()
    failures = []
    cases = read_cases(options.sentences)
    for compiler in options.compilers:
        for name, flags, sentence, program in cases:
            done = subprocess.run([compiler, "-std=c++20", *flags, *(f"-I{folder}" for folder in options.include),
                                   "-x", "c++", "-fsyntax-only", "-"],
                                  input="\n".join(program) + "\n", capture_output=True, text=True, check=False)
            errors = [line for line in done.stderr.splitlines() if "error: " in line]
            if done.returncode == 0 or not errors:
                failures.append(f"{compiler}: '{name}' compiles")
            elif sentence_of(errors[0], sentence) != sentence:
                failures.append(f"{compiler}: '{name}' says first\n  {errors[0]}\nnot\n  {sentence}")
            elif any(flag.startswith("-std=") for flag in flags) and (len(errors) != 2 or "fatal error: " not in errors[1]):
                failures.append(f"{compiler}: '{name}' has {len(errors)} errors, not one:\n" + "\n".join(errors))
    print(*failures, f"{len(cases)} programs, {len(options.compilers)} compilers, {len(failures)} failures", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
