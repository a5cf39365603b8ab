#!/usr/bin/env python3
"""Checks that what README.md, CONTRIBUTING.md, docs/, results/ and the rooms' READMEs quote and name is there.

- A fenced block of C or C++ is a quotation: `<!-- from examples/NAME -->` stands in the line before it,
  and its lines are in that file, next to each other, with the same indentation but for a common one. A
  line `// ...` or `/* ... */` stands for lines that are left out.
- What looks like a path of the repository, in backticks, exists: `cmake/layers.txt`, `adapt/pmr.hpp` (from
  the root, or from ashlar/), `<ashlar/core/bits.hpp>`, `tests/*_test.cpp`; a header's bare name is that of
  some file.
- A name in backticks that has an underline, `thread_cache`, is in some source, but for those of
  others (OTHERS), in a session of the page, and on the pages of docs/migration.
- A link to a file, and to a heading in it, leads there.
- A picture has a text alternative. A drawing (docs/**/*.svg) has a title and a description, both
  colour schemes, and text that can be read on a phone.
- A figure that is told more than once says its name, `32 ns<!-- figure pair_checked -->`, and is the
  one that results/figures.csv has under this name.
- What was measured with ashlar 0.1.0 says so, and that is one of the two newest versions in CHANGELOG.md.
- The head of a source, `// room/file.hpp: what it is`, names the file's own path, and what it names
  like a path exists.
- A page of docs/, but for decisions, begins with `For`: its first sentence says who its reader is.
- docs/statistics.md has every variable that a source of ashlar/ or tools/ reads.
- Each room of cmake/layers.txt has a section in ashlar/README.md or tools/README.md, and
  docs/architecture.md has its name. CONTRIBUTING.md says what belongs in a room of ashlar/.

Run: check_docs.py ROOT. Prints a line for each fault, and ends with 1 if there is one.
"""
import csv
import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree

FENCE = re.compile(r"^\s*```(\w*)")
FROM = re.compile(r"^\s*<!-- from (\S+) -->\s*$")
LINK = re.compile(r"\]\(([^)\s]+)\)")  # its text may begin in an earlier line
CODE = re.compile(r"`([^`\n]+)`")
FOR = re.compile(r"# .+\n\nFor ")
PATH = re.compile(r"^[\w.*-]+(/[\w.*-]+)+/?$")
HEADER = re.compile(r"^[\w*]+\.(h|hpp)$")
SUFFIX = re.compile(r"\.(h|hpp|c|cpp|md|txt|py|sh|cmake)$")
FIGURE = re.compile(r"([0-9][0-9.,]*)[^<|]{0,20}<!-- figure (\w+) -->")
MEASURED = re.compile(r"easured with ashlar (\d+\.\d+\.\d+)")
HEAD = re.compile(r"^// ([\w/]+/[\w-]+\.(?:hpp|h|cpp|c)): ")
IN_HEAD = re.compile(r"\b[a-z_]+/[\w/]+\.(?:hpp|h|cpp|c)\b")
GENERATED = ("ashlar/runtime/tuned_classes.hpp", "pools.hpp", "ashlar_pools.hpp")  # commands write them
NAME = re.compile(r"\b(?:[A-Za-z]|__)\w*_\w*\b(?!\*)")
SOURCES = ("ashlar", "tools", "tests", "bench", "examples", "cmake", "scripts", "packaging", ".")
OTHERS = set("""os_unfair_lock os_sync_wait_on_address __ulock_wait CLOSE_RANGE_UNSHARE PAGEMAP_SCAN __malloc_hook
    __free_hook MALLOC_ARENA_MAX MALLOC_TRIM_THRESHOLD_ __aeabi_ my_classes churn_ashlar churn_dlmalloc""".split())
ELLIPSIS = ("// ...", "/* ... */")
CODE_OF = (".h", ".hpp", ".c", ".cpp")
SVG = "{http://www.w3.org/2000/svg}"
FONT = re.compile(r"\bfont(?:-size)?:\s*(\d+)px")
PHONE_PIXELS = 358  # what a page has for a drawing on a screen of 390
TEXT_PIXELS_MIN = 10


def anchors(file: pathlib.Path) -> set[str]:
    """The names that GitHub gives the headings of a Markdown file."""
    names: set[str] = set()
    fenced = False
    for line in file.read_text().splitlines():
        if FENCE.match(line):
            fenced = not fenced
        if not fenced and re.match(r"#+ ", line):
            text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            names.add(text.replace(" ", "-"))
    return names


def pieces(block: list[str]) -> list[list[str]]:
    """The block, cut where it leaves something out; no empty piece, nor an empty line at an end."""
    cut: list[list[str]] = [[]]
    for line in textwrap.dedent("\n".join(block)).splitlines():
        if line.strip() in ELLIPSIS:
            cut.append([])
        else:
            cut[-1].append(line.rstrip())
    return [p for p in ("\n".join(c).strip("\n").splitlines() for c in cut) if p]


def find(piece: list[str], source: list[str], start: int) -> int:
    """The line after the piece's place in the source at or behind `start`; -1 if it is not there."""
    wanted = textwrap.dedent("\n".join(piece))
    for i in range(start, len(source) - len(piece) + 1):
        if textwrap.dedent("\n".join(source[i : i + len(piece)])) == wanted:
            return i + len(piece)
    return -1


def quotation_fault(root: pathlib.Path, name: str, block: list[str]) -> str:
    """What is wrong with a block that says it is from the file `name`; nothing if it is right."""
    file = root / name
    if not name.startswith("examples/") or not file.is_file():
        return f"{name} is no example"
    source = [line.rstrip() for line in file.read_text().splitlines()]
    parts = pieces(block)
    if not parts:
        return f"nothing is quoted from {name}"
    at = 0
    for part in parts:
        at = find(part, source, at)
        if at < 0:
            return f"not in {name}: {part[0].strip()} ..."
    return ""


def path_fault(root: pathlib.Path, here: pathlib.Path, code: str) -> str:
    """What is wrong with a piece of code in backticks, if it is a path; nothing if it is not. A path
    is one from the root, from ashlar/ or from the folder `here`; a part in capitals stands for any name."""
    name = re.sub(r"\b[A-Z]+\b", "*", code.strip("<>\""))
    if name in GENERATED:
        return ""
    if HEADER.match(name):
        tops = ("ashlar", "examples") if here == root or here.is_relative_to(root / "docs") else ("ashlar", "tools", "tests")
        found = any(any(root.glob(f"{top}/**/{name}")) for top in tops)
        return "" if found else f"no header has this name: {name}"
    if not PATH.match(name):
        return ""
    first = name.split("/")[0]
    if first in ("build", "..", ".") or not (SUFFIX.search(name) or (root / first).is_dir()):
        return ""
    for base in (root, root / "ashlar", here):
        if "*" in name and any(base.glob(name)):
            return ""
        if (base / name).exists():
            return ""
    return f"no such path: {name}"


def link_fault(root: pathlib.Path, page: pathlib.Path, target: str) -> str:
    """What is wrong with a link, if it is to a file."""
    if re.match(r"^[a-z]+:", target):
        return ""
    name, _, heading = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists() or not file.is_relative_to(root):
        return f"the link leads nowhere: {target}"
    if heading and heading not in anchors(file):
        return f"the link's heading is not there: {target}"
    return ""


def names_in(root: pathlib.Path) -> set[str]:
    """Every word of the sources, and the names of files."""
    names: set[str] = set()
    for top in SOURCES:
        for file in (root / top).glob("*" if top == "." else "**/*"):
            if file.suffix in (*CODE_OF, ".in", ".py", ".sh", ".txt", ".cmake", ".json", ".toml") or file.name == "Makefile":
                names |= {file.stem, *re.findall(r"\w+", file.read_text(errors="replace"))}
    return names


def name_faults(root: pathlib.Path, page: pathlib.Path, known: set[str]) -> list[str]:
    """The names that a page of docs/ tells and that are gone. A test's may begin with its folder's, a metric's with
    ashlar_heap; a last part in capitals stands for any name."""
    text = page.read_text()
    fences = re.findall(r"^```.*?^```", text, re.M | re.S)
    here = known | OTHERS | set(re.findall(r"\w+", "\n".join(fences)))
    first = ["ashlar_heap", "ashlar_heap_peak", "ashlar_class", "ashlar_class_peak",
             *(f.name for top in ("tests", "ashlar") for f in (root / top).glob("*/"))]

    def is_known(name: str) -> bool:
        return (name in here or re.search("[a-z].*_[A-Z]+$", name) is not None
                or any(name.startswith(f"{word}_") and name[len(word) + 1 :] in here for word in first))
    return [f"{page.relative_to(root)}:{number}: no source has the name {name}"
            for number, line in enumerate(text.splitlines(), 1) for code in CODE.findall(line)
            for name in NAME.findall(code) if not is_known(name)]


def setting_faults(root: pathlib.Path) -> list[str]:
    """The variables of the environment that users are not told of."""
    read = {name for top in ("ashlar", "tools") for source in (root / top).rglob("*.[hc]pp") if "_test." not in source.name
            for name in re.findall(r'"(ASHLAR_[A-Z_]+)=?"', source.read_text())}
    told = re.findall(r"`(ASHLAR_[A-Z_]+)", (root / "docs/statistics.md").read_text()) if read else []
    return [f"docs/statistics.md: no word of {name}" for name in sorted(read - set(told))]


def figures_in(root: pathlib.Path) -> dict[str, str]:
    """The figures that prose may name, each as it is to be written."""
    file = root / "results/figures.csv"
    if not file.is_file():
        return {}
    with file.open(newline="") as rows:
        return {row["name"]: row["value"] for row in csv.DictReader(rows)}


def figure_fault(figures: dict[str, str], told: str, name: str) -> str:
    """What is wrong with a figure that says its name."""
    if name not in figures:
        return f"results/figures.csv has no figure {name}"
    return "" if told == figures[name] else f"the figure {name} is {figures[name]}, not {told}"


def age_fault(root: pathlib.Path, told: str) -> str:
    """What is wrong with a version with which something was measured."""
    versions = re.findall(r"^## .*?(\d+\.\d+\.\d+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    return "" if told in versions[:2] else f"measured with {told}, which is more than one release old: measure again"


def check_head(root: pathlib.Path, source: pathlib.Path) -> list[str]:
    """The faults of a source's head, which is the comment that it begins with."""
    lines = source.read_text().splitlines()
    head = HEAD.match(lines[0]) if lines else None
    if head is None:
        return []
    faults = []
    if not any(root / base / head[1] == source for base in ("", "ashlar")):
        faults.append(f"{source.relative_to(root)}:1: its head says {head[1]}")
    for number, line in enumerate(lines, 1):
        if not line.startswith("//"):
            break
        faults += [f"{source.relative_to(root)}:{number}: {fault}"
                   for name in IN_HEAD.findall(line) if (fault := path_fault(root, source.parent, name))]
    return faults


def room_faults(root: pathlib.Path) -> list[str]:
    """The rooms of cmake/layers.txt that a newcomer is not told of."""
    contributing = (root / "CONTRIBUTING.md").read_text()
    architecture = (root / "docs/architecture.md").read_text()
    faults = []
    for room in re.findall(r"^([a-z/]+):", (root / "cmake/layers.txt").read_text(), re.M):
        kind, name = room.split("/")
        of_all = root / kind / "README.md"
        if not of_all.is_file() or not re.search(rf"^## {name}\b", of_all.read_text(), re.M):
            faults.append(f"{kind}/README.md has no section on {name}")
        if room.startswith("ashlar/") and f"`{room}`" not in contributing:
            faults.append(f"CONTRIBUTING.md: nothing is said to belong to `{room}`")
        if re.search(rf"\b{room.removeprefix('ashlar/')}\b", architecture) is None:
            faults.append(f"docs/architecture.md: no word of {room}")
    return faults


def drawing_faults(root: pathlib.Path, file: pathlib.Path) -> list[str]:
    """What a drawing lacks to be read by everybody."""
    name = file.relative_to(root)
    try:
        drawing = xml.etree.ElementTree.parse(file).getroot()
        width = float(drawing.get("viewBox", "").split()[2])
    except (xml.etree.ElementTree.ParseError, IndexError, ValueError) as fault:
        return [f"{name}: no SVG with a viewBox: {fault}"]
    faults = [f"{name}: no <{part}>" for part in ("title", "desc") if not drawing.findtext(f"{SVG}{part}")]
    style = drawing.findtext(f"{SVG}style") or ""
    if "prefers-color-scheme: dark" not in style:
        faults.append(f"{name}: no dark colour scheme")
    sizes = [int(size) for size in FONT.findall(style)]
    if not sizes or min(sizes) * min(1, PHONE_PIXELS / width) < TEXT_PIXELS_MIN:
        faults.append(f"{name}: its text is below {TEXT_PIXELS_MIN} pixels on a phone, or has no size")
    return faults


def check_page(root: pathlib.Path, page: pathlib.Path) -> tuple[list[str], int]:
    """The faults of a page, each with its line, and the number of its quotations."""
    faults: list[str] = []
    quotations = 0
    block: list[str] | None = None
    language = name = ""
    opened = 0
    previous = ""
    figures = figures_in(root)
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        found: list[str] = []
        if block is None and fence:
            block, language, opened = [], fence[1], number
            marker = FROM.match(previous)
            name = marker[1] if marker else ""
        elif block is not None and fence:
            if name:
                quotations += 1
                found.append(quotation_fault(root, name, block))
            elif language in ("c", "cpp", "c++", "C", "cc"):
                found.append("a block of code that does not say which example it is from")
            block = None
            faults += [f"{page.relative_to(root)}:{opened}: {f}" for f in found if f]
            found = []
        elif block is not None:
            block.append(line)
        else:
            if FROM.match(previous):
                found.append("a quotation without its block")
            if line.count("`") % 2 != 0:
                found.append("a backtick without its pair in the line")
            if "![](" in line:
                found.append("a picture without a text alternative")
            if line.count("<!--") != line.count("-->"):
                found.append("a comment without its end in the line")
            found += [link_fault(root, page, t) for t in LINK.findall(CODE.sub("", line))]
            found += [path_fault(root, page.parent, c) for c in CODE.findall(line)]
            found += [figure_fault(figures, *told) for told in FIGURE.findall(line)]
            found += [age_fault(root, t) for t in MEASURED.findall(line)]
            if line.count("<!-- figure ") != len(FIGURE.findall(line)):
                found.append("a figure's name without a figure before it")
        faults += [f"{page.relative_to(root)}:{number}: {f}" for f in found if f]
        previous = line
    if block is not None:
        faults.append(f"{page.relative_to(root)}:{opened}: a block without an end")
    return faults, quotations


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")),
             *sorted((root / "results").glob("*.md")),
             *(p for top in ("ashlar", "tools", "tests", "bench")
               for p in sorted((root / top).rglob("*.md")))]
    faults = room_faults(root) + setting_faults(root)
    for top in ("ashlar", "tools"):
        for source in sorted((root / top).rglob("*.*")):
            if source.suffix in CODE_OF:
                faults += check_head(root, source)
    for drawing in sorted((root / "docs").rglob("*.svg")):
        faults += drawing_faults(root, drawing)
    quotations = 0
    known = names_in(root)
    for page in pages:
        if page.is_relative_to(root / "docs") and page.parent.name != "decisions" and not FOR.match(page.read_text()):
            faults.append(f"{page.relative_to(root)}: its first sentence does not say for whom it is")
        if page.is_relative_to(root / "docs") and page.parent != root / "docs/migration":
            faults += name_faults(root, page, known)
        page_faults, page_quotations = check_page(root, page)
        faults += page_faults
        quotations += page_quotations
    if quotations == 0:
        faults.append("no page quotes an example: nothing was checked")
    print("\n".join(faults) if faults else f"{len(pages)} pages, {quotations} quotations: all there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
