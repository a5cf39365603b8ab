#!/usr/bin/env python3
"""Reports how long the sentences of the documentation are. This is a report, not a gate.

Code blocks, tables, headings, comments and the targets of links are not prose and are left out. A paragraph
or an item of a list ends the sentence that it contains. A word has a letter or a digit.

Run: prose_report.py [--long N] [PAGE...]. Without a page it looks at README.md, CONTRIBUTING.md and docs/.
--long N also prints each sentence of more than N words, with its page and line.
"""
import argparse
import pathlib
import re
import sys

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s+")
SKIPPED = re.compile(r"^\s*(\||#|<!--|\[!\[|!\[|!!!|=== )")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
# A sentence may begin with the name of a thing that has no capital.
NAMES = "ashlar|glibc|jemalloc|mimalloc|rpmalloc|snmalloc|tcmalloc|scudo|malloc|realloc|free|sqlite3|core|libashlar|redis|cc1plus"
END = re.compile(rf"(?<=[.!?])[\"')*_`]*\s+(?=[\"'(*_`\[]*([A-Z0-9`]|(?:{NAMES})\b))")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|No)\.$")


def paragraphs(text: str):
    """Yields (line number, text) of each paragraph of prose and each item of a list."""
    started, lines, fenced = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = FENCE.match(line) is not None
        if fence or fenced or not line.strip() or SKIPPED.match(line) or ITEM.match(line):
            if lines:
                yield started, " ".join(lines)
            lines = []
        fenced ^= fence
        if fence or fenced or not line.strip() or SKIPPED.match(line):
            continue
        lines = lines or []
        started = started if lines else number
        lines.append(ITEM.sub("", line).strip())


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph."""
    text = re.sub(r"<!--.*?-->", "", LINK.sub(r"\1", text))
    found: list[str] = []
    for piece in END.sub("\n", text).split("\n"):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + piece
        else:
            found.append(piece)
    return [s for s in found if words(s)]


def words(text: str) -> int:
    """The number of words: what has a letter or a digit, code and figures included."""
    return sum(any(c.isalnum() for c in word) for word in text.split())


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--long", type=int, metavar="N", help="print each sentence of more than N words")
    options = parser.parse_args()
    pages = options.pages or [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    totals = [0, 0, 0, 0]
    print(f"{'page':52} {'words':>7} {'prose':>7} {'sentences':>9} {'average':>7} {'above 35':>8}")
    for page in pages:
        text = page.read_text()
        lengths = []
        for line, paragraph in paragraphs(text):
            for sentence in sentences(paragraph):
                lengths.append(words(sentence))
                if options.long and lengths[-1] > options.long:
                    print(f"{page}:{line}: {lengths[-1]} words: {sentence}")
        row = [len(text.split()), sum(lengths), len(lengths), sum(n > 35 for n in lengths)]
        totals = [a + b for a, b in zip(totals, row)]
        name = page.resolve()
        name = name.relative_to(root) if name.is_relative_to(root) else name
        print(f"{str(name):52} {row[0]:7} {row[1]:7} {row[2]:9} {row[1] / max(row[2], 1):7.1f} {row[3]:8}")
    print(f"{'together':52} {totals[0]:7} {totals[1]:7} {totals[2]:9} {totals[1] / max(totals[2], 1):7.1f} {totals[3]:8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
