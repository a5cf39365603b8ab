#!/usr/bin/env python3
"""A user's program, built with a sanitizer and linked with the library that was built without one.

Usage: user_builds.py SOURCE_FOLDER STATIC_LIBRARY SHARED_LIBRARY FOLDER COMPILER...

Proper use has no report; a planted race, overflow and use after free have the right one.
"""
import concurrent.futures
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MISTAKES = {
    "thread": {"data_race": ["WARNING: ThreadSanitizer: data race"] * 2},
    "address": {"overflow": ["heap-buffer-overflow", "0 bytes after 10-byte region"],
                "use_after_free": ["heap-use-after-free", "3 bytes inside of 10-byte region", "xfree"],
                "double_free": ["attempting double-free", "xfree"]},
}


def fail(text):
    print(f"user_builds.py: {text}", file=sys.stderr)
    sys.exit(1)


def run(command, **options):
    environment = dict(os.environ, **options)
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=200)
    except subprocess.TimeoutExpired:
        fail(f"{command} hangs")


def build(sources, compiler, sanitizer, libraries, folder):
    """One program for each library; None where the compiler lacks the sanitizer's runtime."""
    name = os.path.join(folder, f"{os.path.basename(compiler)}_{sanitizer}")
    flags = [compiler, "-std=c++20", "-g", "-O0", f"-fsanitize={sanitizer}", "-pthread"]
    built = run([*flags, f"-I{sources}", "-c", os.path.join(HERE, "user.cpp"), "-o", name + ".o"])
    programs = []
    for library in libraries:
        programs.append(f"{name}_{os.path.basename(library)}")
        if built.returncode == 0:
            built = run([*flags, name + ".o", library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o", programs[-1]])
    if "cannot find" in built.stderr:
        return None
    if built.returncode != 0:
        fail(f"{compiler} -fsanitize={sanitizer}:\n{built.stderr}")
    return programs


def check(program, sanitizer):
    proper = run([program, "proper_use"])
    if proper.returncode != 0 or proper.stdout != "done\n" or proper.stderr:
        fail(f"{program} is accused, and makes no mistake:\n{proper.stdout}{proper.stderr[:10000]}")
    for mistake, lines in MISTAKES[sanitizer].items():
        told = run([program, mistake]).stderr
        for line in set(lines):
            if line == "xfree" and "symbolizer!" in told:
                continue  # this runtime has no names here
            # "0 bytes to the right of" is what older runtimes say.
            same = (line, line.replace("after", "to the right of"))
            if max(told.count(text) for text in same) < lines.count(line):
                fail(f"{program} {mistake}: not told: {line}\n{told[:10000]}")


def main():
    if len(sys.argv) < 6:
        fail(__doc__)
    sources, static, shared, folder, *compilers = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    pairs = [(compiler, sanitizer) for compiler in compilers for sanitizer in MISTAKES]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda pair: build(sources, *pair, (static, shared), folder), pairs))
    left_out = [" ".join(pair) for pair, programs in zip(pairs, built) if programs is None]
    checked = 0
    for (_, sanitizer), programs in zip(pairs, built):
        for program in programs or ():
            check(program, sanitizer)
            checked += 1
    if checked == 0:
        fail("no sanitizer is installed: nothing was proved")
    print(f"{checked} programs are as they must be; left out: {', '.join(left_out) or 'none'}")


main()
