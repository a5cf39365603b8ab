#!/usr/bin/env python3
"""Proof that check_docs.py and run_tutorials.py bite: in a small tree, and in small pages, each planted fault must be found, and
named; right ones have to pass.

Run: bites.py CHECK_DOCS.PY | RUN_TUTORIALS.PY
"""
import pathlib
import subprocess
import sys
import tempfile

CHECK = sys.argv[1]


def differences(planted, run) -> list[str]:
    """planted: name, what run() takes, the exit status, and what must be told."""
    faults = []
    for name, tree, status, told in planted:
        got, text = run(*tree)
        if got != status or told not in text:
            faults.append(f"{name}: exit status {got}, expected {status} and '{told}' in:\n{text}")
    return faults


# ---- check_docs.py -----------------------------------------------------------------------------------------

EXAMPLE = """\
int main() {
  int stones = 2;
  if (stones == 2) {
    ++stones;
  }
  return 0;
}
"""
DRAWING = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 100">
  <title>Stones</title>
  <desc>Two stones.</desc>
  <style>text { font: 18px sans-serif; } @media (prefers-color-scheme: dark) { text { fill: white; } }</style>
</svg>
"""
QUOTE = "<!-- from examples/a.cpp -->\n```cpp\nint stones = 2;\n// ...\n  ++stones;\n```\n"


def run_check(page: str, drawing: str = DRAWING, files: dict[str, str] | None = None) -> tuple[int, str]:
    """The check's exit status and text for a tree with this page, this drawing and these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {
            "README.md": page,
            "CONTRIBUTING.md": "`ashlar/core`\n",
            "cmake/layers.txt": "ashlar/core:\n",
            "docs/architecture.md": "# House\n\nFor builders: core\n",
            "ashlar/README.md": "## core\n",
            "CHANGELOG.md": "## Unreleased (0.3.0)\n## 0.2.0\n## 0.1.0\n",
            "docs/other.md": "# Two words\n\nFor two.\n",
            "examples/a.cpp": EXAMPLE,
            "docs/stones.svg": drawing,
            "ashlar/core/bits.hpp": "",
            "results/figures.csv": "name,value,unit,command\npair,6,ns,bench pair\n",
            **(files or {}),
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr


def faults_of_check() -> list[str]:
    right = [
        QUOTE,
        QUOTE + "`core/bits.hpp`, `<ashlar/core/bits.hpp>`, `bits.hpp`, `examples/*.cpp`, `and/or`\n",
        QUOTE + "[o](docs/other.md#two-words) [w](https://example.org/none) `[x](none)`\n",
        QUOTE + "```\nnone/of/this.cpp\n```\n",
        QUOTE + "6 ns<!-- figure pair --> a pair, measured with ashlar 0.2.0 (abc), 1 May\n",
    ]
    wrong = {
        "a changed line": (QUOTE.replace("= 2;", "= 3;"), "not in examples/a.cpp"),
        "changed indentation": (
            "<!-- from examples/a.cpp -->\n```cpp\nif (stones == 2) {\n++stones;\n```\n",
            "not in examples/a.cpp",
        ),
        "lines in another order": (
            "<!-- from examples/a.cpp -->\n```cpp\n++stones;\n// ...\nint stones = 2;\n```\n",
            "not in examples/a.cpp",
        ),
        "lines that are no neighbours": (
            "<!-- from examples/a.cpp -->\n```cpp\nint stones = 2;\nreturn 0;\n```\n",
            "not in examples/a.cpp",
        ),
        "a file that is gone": (QUOTE.replace("a.cpp", "b.cpp"), "examples/b.cpp is no example"),
        "an empty quotation": (QUOTE + "<!-- from examples/a.cpp -->\n```cpp\n```\n", "nothing is quoted"),
        "code from nowhere": (QUOTE + "```cpp\nint stones = 2;\n```\n", "which example"),
        "a lost mark": (QUOTE + "<!-- from examples/a.cpp -->\n\n```\nx\n```\n", "without its block"),
        "an open block": (QUOTE + "```\nx\n", "without an end"),
        "a path that is gone": (QUOTE + "see `core/gone.hpp`\n", "core/gone.hpp"),
        "a folder's file that is gone": (QUOTE + "`examples/gone`\n", "examples/gone"),
        "a figure that has changed": (QUOTE + "7 ns<!-- figure pair -->\n", "the figure pair is 6, not 7"),
        "a figure that is gone": (QUOTE + "6 ns<!-- figure pear -->\n", "no figure pear"),
        "a name without a figure": (QUOTE + "ns <!-- figure pair -->\n", "without a figure"),
        "a figure's name over a line's end": (QUOTE + "6 ns<!-- figure\npair -->\n", "a comment without its end"),
        "an old figure": (QUOTE + "Measured with ashlar 0.1.0\n", "more than one release old"),
        "a header that is gone": (QUOTE + "see `gone.h`\n", "gone.h"),
        "a pattern without a match": (QUOTE + "`examples/*.c`\n", "examples/*.c"),
        "code over a line's end": (QUOTE + "`core/\ngone.hpp`\n", "without its pair"),
        "a dead link": (QUOTE + "[d](docs/gone.md)\n", "docs/gone.md"),
        "a link out of the tree": (QUOTE + "[d](../..)\n", "leads nowhere"),
        "a dead heading": (QUOTE + "[d](docs/other.md#three)\n", "heading"),
        "no quotation at all": ("text\n", "nothing was checked"),
        "a dead link over a line's end": (QUOTE + "[of two\nlines](docs/gone.md)\n", "docs/gone.md"),
        "a picture without words": (QUOTE + "![](docs/stones.svg)\n", "text alternative"),
    }
    drawings = {
        "no XML": (DRAWING.replace("</svg>", ""), "no SVG"),
        "no size": (DRAWING.replace("viewBox", "box"), "no SVG"),
        "no title": (DRAWING.replace("Stones<", "<"), "no <title>"),
        "no description": (DRAWING.replace("desc>", "g>"), "no <desc>"),
        "one colour scheme": (DRAWING.replace("dark", "light"), "no dark"),
        "small text": (DRAWING.replace("18px", "16px"), "on a phone"),
        "a wide drawing": (DRAWING.replace("0 0 600", "0 0 800"), "on a phone"),
    }
    rooms = {
        "a room that no README tells of": ({"cmake/layers.txt": "ashlar/core:\nashlar/attic: core\n"},
                                    "ashlar/README.md has no section on attic"),
        "a room to which nothing belongs": ({"CONTRIBUTING.md": ""}, "nothing is said to belong to `ashlar/core`"),
        "a room that the picture lacks": ({"docs/architecture.md": "# House\n\nFor a score\n"}, "no word of ashlar/core"),
    }
    names = {
        "a name that is gone": ({"docs/page.md": "# Age\n\nFor `grown_old`\n"}, "docs/page.md:3: no source has the name grown_old"),
        "a setting that is gone": ({"docs/page.md": "# Gone\n\nFor `ASHLAR_GONE=1`\n"}, "no source has the name ASHLAR_GONE"),
    }
    names["a setting that nobody is told of"] = (
        {"ashlar/core/bits.cpp": 'find("ASHLAR_NEW");', "docs/statistics.md": ""}, "no word of ASHLAR_NEW")
    names["a page for nobody"] = ({"docs/page.md": "# Stones\n\nStones are hard.\n"}, "docs/page.md: its first sentence")
    told = {"docs/page.md": "# Stones\n\nFor `my_stones`, `core_main`, `os_unfair_lock`, `size_of_X`\n```\nmy_stones\n```\n"}
    planted = [("a right page", (page,), 0, "") for page in right]
    planted += [("right names", (QUOTE, DRAWING, told), 0, "")]
    planted += [(what, (page,), 1, message) for what, (page, message) in wrong.items()]
    planted += [(what, (QUOTE, drawing), 1, message) for what, (drawing, message) in drawings.items()]
    planted += [(what, (QUOTE, DRAWING, files), 1, message) for what, (files, message) in (rooms | names).items()]
    return differences(planted, run_check)


# ---- run_tutorials.py --------------------------------------------------------------------------------------

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


def faults_of_tutorials() -> list[str]:
    def run_page(text: str) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text(text)
            done = subprocess.run([sys.executable, CHECK, folder, "-", str(page)], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr
    return differences([*((name, (text,), 0, "as it says") for name, text in RIGHT.items()),
                        *((name, (text,), 1, told) for name, (text, told) in WRONG.items()),
                        ("a page that is skipped", (SKIPPED,), 77, "for want of no-such-program")], run_page)


if __name__ == "__main__":
    found = faults_of_tutorials() if CHECK.endswith("tutorials.py") else faults_of_check()
    print("\n".join(found) or "all as expected")
    sys.exit(bool(found))
