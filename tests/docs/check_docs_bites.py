#!/usr/bin/env python3
"""Proof that check_docs.py bites: in a small tree each planted fault must be found, and named.

Run: check_docs_bites.py CHECK_DOCS.PY
"""
import pathlib
import subprocess
import sys
import tempfile

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


def run(check: str, page: str, drawing: str = DRAWING, files: dict[str, str] | None = None) -> tuple[int, str]:
    """The check's exit status and text for a tree with this page, this drawing and these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {
            "README.md": page,
            "CONTRIBUTING.md": "`ashlar/core`\n",
            "cmake/layers.txt": "ashlar/core:\n",
            "docs/architecture.md": "core\n",
            "ashlar/core/README.md": "# core\n",
            "docs/other.md": "# Two words\n",
            "examples/a.cpp": EXAMPLE,
            "docs/stones.svg": drawing,
            "ashlar/core/bits.hpp": "",
            "results/figures.csv": "name,value,unit,command\npair,6,ns,bench pair\n",
            **(files or {}),
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([sys.executable, check, folder], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr


def main() -> int:
    check = sys.argv[1]
    right = [
        QUOTE,
        QUOTE + "`core/bits.hpp`, `<ashlar/core/bits.hpp>`, `bits.hpp`, `examples/*.cpp`, `and/or`\n",
        QUOTE + "[o](docs/other.md#two-words) [w](https://example.org/none) `[x](none)`\n",
        QUOTE + "```\nnone/of/this.cpp\n```\n",
        QUOTE + "6 ns<!-- figure pair --> a pair\n",
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
        "a room without a README": ({"cmake/layers.txt": "ashlar/core:\nashlar/attic: core\n"},
                                    "ashlar/attic has no README.md"),
        "a room to which nothing belongs": ({"CONTRIBUTING.md": ""}, "nothing is said to belong to `ashlar/core`"),
        "a room that the picture lacks": ({"docs/architecture.md": "a score\n"}, "no word of ashlar/core"),
    }
    names = {
        "a name that is gone": ({"docs/page.md": "`grown_old`\n"}, "docs/page.md:1: no source has the name grown_old"),
        "a setting that is gone": ({"docs/page.md": "`ASHLAR_GONE=1`\n"}, "no source has the name ASHLAR_GONE"),
    }
    names["a setting that nobody is told of"] = (
        {"ashlar/core/bits.cpp": 'find("ASHLAR_NEW");', "docs/statistics.md": ""}, "no word of ASHLAR_NEW")
    told = {"docs/page.md": "`my_stones`, `core_main`, `os_unfair_lock`, `size_of_X`\n```\nmy_stones\n```\n"}
    failed = 0
    for page in right:
        status, text = run(check, page)
        if status != 0:
            failed += 1
            print(f"a right page is refused:\n{page}{text}")
    planted = [(what, (page,), message) for what, (page, message) in wrong.items()]
    planted += [(what, (QUOTE, drawing), message) for what, (drawing, message) in drawings.items()]
    planted += [(what, (QUOTE, DRAWING, files), message) for what, (files, message) in rooms.items()]
    planted += [(what, (QUOTE, DRAWING, files), message) for what, (files, message) in names.items()]
    if run(check, QUOTE, DRAWING, told)[0] != 0:
        failed += 1
        print(f"right names are refused: {run(check, QUOTE, DRAWING, told)[1]}")
    for what, tree, message in planted:
        status, text = run(check, *tree)
        if status != 1 or message not in text:
            failed += 1
            print(f"{what}: exit status {status}, expected 1 and '{message}' in:\n{text}")
    print(f"{len(right)} right pages, {len(planted)} planted faults, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
