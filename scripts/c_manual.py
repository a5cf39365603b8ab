#!/usr/bin/env python3
"""Writes the manual page of the C API, ashlar.3, from the comments in its headers, and a page for each function
that leads to it.

Run: c_manual.py CHECKOUT FOLDER VERSION
"""
import pathlib
import re
import sys

HEADERS = ("ashlar/adapt/xmalloc.h", "ashlar/adapt/c_api.h")
COMMENT = re.compile(r"/\*(.*?)\*/\n", re.S)
# What stands between two empty lines: a comment, or a comment and its declarations, or a type.
PART = re.compile(r"(?:^[^\n]+\n)+", re.M)
FUNCTION = re.compile(r"^[\w \*]+?[ \*](\w+)\([^;]*;", re.M)
ATTRIBUTES = re.compile(r"\s*ASHLAR_(?:NOEXCEPT|ATTRIBUTE\((?:[^()]|\([^()]*\))*\))")
SEE = "\\fBashlar\\fR(1), \\fBmalloc\\fR(3)"


def roff(text: str) -> str:
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.M)


def as_it_stands(lines: str) -> str:
    return f".PP\n.nf\n{roff(lines.rstrip())}\n.fi\n.PP\n"


def prose(comment: str) -> str:
    """A comment's text: an empty line ends a paragraph, a dash begins a point of a list, and what is indented is a table."""
    made, table = "", ""
    for line in comment.strip().split("\n"):
        line = re.sub(r"^ ?\* ?", "", line).rstrip()
        if line.startswith("  "):
            table += line + "\n"
            continue
        if table:
            made, table = made + as_it_stands(table), ""
        made += ".PP\n" if line == "" else ".IP \\(bu 2\n" + roff(line[2:]) + "\n" if line.startswith("- ") else roff(line) + "\n"
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fR", made)


def main() -> None:
    root, folder, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    names: list[str] = []
    about, functions = "", ""
    for header in HEADERS:
        head, *parts = PART.findall((root / header).read_text())
        about += prose(COMMENT.match(head)[1].split("\n", 1)[1]) + ".PP\n"
        for part in parts:
            declared = ATTRIBUTES.sub("", COMMENT.sub("", part, count=1) if part.startswith("/*") else part).strip()
            found = FUNCTION.findall(declared)
            if not found and not re.match(r"enum|typedef", declared):
                continue
            names += found
            comment = COMMENT.match(part)
            functions += as_it_stands(re.sub(r"/\*.*?\*/\n", "", declared, flags=re.S) if found else declared)
            functions += ".RS 4\n" + prose(comment[1]) + ".RE\n" if comment else ""
    if len(names) < 20:
        sys.exit(f"c_manual: {len(names)} functions in {' and '.join(HEADERS)}: their form is another one")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ashlar.3").write_text(
        f'.TH ASHLAR 3 "" "ashlar {version}" "C API"\n.nh\n.SH NAME\nashlar, {", ".join(names)} \\- '
        f"xmalloc\\(aqs family, and what the process heap tells\n"
        f".SH SYNOPSIS\n.nf\n.B #include <ashlar/ashlar.h>\n.fi\n.PP\nLink with \\fB\\-lashlar\\fR.\n"
        f".SH DESCRIPTION\n{about}.SH FUNCTIONS\n{functions}.SH SEE ALSO\n{SEE}\n")
    for name in names:
        (folder / f"{name}.3").write_text(".so man3/ashlar.3\n")


if __name__ == "__main__":
    main()
