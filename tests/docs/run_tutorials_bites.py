#!/usr/bin/env python3
"""Plants faults in pages that run_tutorials.py reads, and requires that it finds each; right pages have to pass.

Run: run_tutorials_bites.py RUN_TUTORIALS
"""
import pathlib
import subprocess
import sys
import tempfile


def console(text: str) -> str:
    return f"```console\n{text}\n```\n"


RIGHT = {
    "output": console("$ echo one\none\n$ echo two\ntwo"),
    "no output": console("$ true"),
    "both streams, in their order": console("$ echo one; echo two >&2; echo three\none\ntwo\nthree"),
    "a longer command": console("$ echo one \\\n  two\none two"),
    "any lines": console("$ seq 9\n1\n...\n8\n9\n$ seq 2\n1\n2\n..."),
    "what varies": "<!-- varies: \\d+ ms -->\n" + console("$ echo it took 17 ms\nit took 3 ms"),
    "a file": "<!-- file a.txt -->\n```text\nhello\n```\n" + console("$ cat a.txt\nhello"),
    "an example": "<!-- from examples/x/a.c -->\n```c\nint a;\n```\n" + console("$ cat a.c\nint a;"),
    "part of an example is no file": "<!-- from examples/x/a.c -->\n```c\nint a;\n// ...\n```\n" + console("$ ls"),
    "what was done before": "<!-- run: echo before >b -->\n" + console("$ cat b\nbefore"),
    "a folder of its own": console('$ ls -A\n$ [ "$(ls -A "$HOME")" = "" ]'),
    "a status that is shown": console('$ false || echo "status $?"\nstatus 1'),
    "progress that is written over": console("$ printf '1 %%\\r\\033[K2 %%\\r\\033[K'; echo done\ndone"),
    "a program that it needs": "<!-- needs: sh -->\n" + console("$ true"),
    "a block that is no session": "```\n$ false\n```\n" + console("$ true"),
}
WRONG = {
    "another output": (console("$ echo one\ntwo"), "prints something else"),
    "output that is not shown": (console("$ echo one"), "prints something else"),
    "output that does not come": (console("$ true\none"), "prints something else"),
    "a line too many": (console("$ seq 3\n1\n2"), "prints something else"),
    "any lines, but not the last": (console("$ seq 9\n1\n...\n7"), "prints something else"),
    "what varies has another shape": ("<!-- varies: \\d+ ms -->\n" + console("$ echo 17 s\n3 ms"), "something else"),
    "a status": (console("$ false"), "status 1"),
    "a status behind right output": (console("$ echo one; exit 3\none"), "status 3"),
    "a program that is not there": (console("$ no-such-program\n..."), "status 127"),
    "what was done before fails": ("<!-- run: false -->\n" + console("$ true"), "status 1"),
    "no command": ("# A page\n```\n$ true\n```\n", "nothing was tested"),
}


SKIPPED = "<!-- needs: sh no-such-program -->\n" + console("$ false")


def main() -> int:
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.md")
        for name, text, told in [*((n, t, "") for n, t in RIGHT.items()), *((n, *t) for n, t in WRONG.items())]:
            page.write_text(text)
            done = subprocess.run([sys.executable, sys.argv[1], folder, "-", str(page)], capture_output=True, text=True)
            if done.returncode != bool(told) or (told or "as it says") not in done.stdout:
                faults.append(f"{name}: status {done.returncode}: {done.stdout}{done.stderr}")
        page.write_text(SKIPPED)
        done = subprocess.run([sys.executable, sys.argv[1], folder, "-", str(page)], capture_output=True, text=True)
        if done.returncode != 77 or "for want of no-such-program" not in done.stdout:
            faults.append(f"a page is not skipped: status {done.returncode}: {done.stdout}{done.stderr}")
    print("\n".join(faults) or f"{len(RIGHT)} right pages, {len(WRONG)} planted faults: all as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
