#!/usr/bin/env python3
"""Builds the documentation as a site, in build/site.

The pages are those of the repository that mkdocs.yml names, and what they lead to. They are written for GitHub, so
build/site-source gets copies that MkDocs understands:
- A list or a table begins a paragraph of its own.
- A source file that a page links becomes a page. A folder becomes a page that lists what is in it.
- docs/options.md is what `ashlar help` prints of each command.
- docs/api.md leads to what Doxygen makes of the public headers, and docs/sample.md to a report of
  examples/tutorials/visits.cpp, recorded now.
MkDocs and its theme go into build/site-venv.

Run: site.py --program FILE [--no-build]. FILE is the command `ashlar`. --no-build makes build/site-source only, which
needs no network.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import report_pictures
from python_environment import install

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build/site-source"
VENV = ROOT / "build/site-venv"
PACKAGES = ("mkdocs==1.6.1", "mkdocs-material==9.5.49")
OPTIONS = "docs/options.md"
API = "docs/api.md"
SAMPLE = "docs/sample.md"
FENCE = re.compile(r"^\s*```")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CODE_SPAN = re.compile(r"(`[^`]*`)")
SHORT_CODE = re.compile(r"`[^`\s]{2,32}`")  # a browser would break it behind a hyphen
LIST = re.compile(r"^(\s*)([-*+]|\d+\.)\s")
LANGUAGES = {".hpp": "cpp", ".h": "c", ".cpp": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".txt": "text",
             ".toml": "toml", ".cmake": "cmake", "": "text"}
CSS = """.md-typeset table:not([class]) { font-size: .64rem; }
.md-typeset table:not([class]) th { min-width: 0; }
.md-typeset table:not([class]) :is(th, td) { padding: .5em .9em; }
.md-typeset table:not([class]) :is(th, td) :is(code, a) { word-break: normal; overflow-wrap: normal; }
.md-typeset :is(code.whole, td[style*="right"]) { white-space: nowrap; }
/* A table that is wider than the screen has a shadow where it goes on. */
.md-typeset table:not([class]) { background: none; }
.md-typeset__scrollwrap {
  background:
    linear-gradient(to right, var(--md-default-bg-color) 40%, transparent) left / 2rem 100%,
    linear-gradient(to left, var(--md-default-bg-color) 40%, transparent) right / 2rem 100%,
    linear-gradient(to right, var(--md-default-fg-color--light), transparent) left / .5rem 100%,
    linear-gradient(to left, var(--md-default-fg-color--light), transparent) right / .5rem 100%;
  background-attachment: local, local, scroll, scroll;
  background-repeat: no-repeat;
}
@media (max-width: 45em) { .md-clipboard { display: none; } }  /* it would cover the end of a command */
[data-md-color-scheme="slate"] .md-typeset img:not([src$=".svg"]) { background: #fff; border-radius: .2rem; }
"""


def title(page: pathlib.Path) -> str:
    """The page's first heading, or its name."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.M) if page.suffix == ".md" else None
    return heading[1] if heading else page.name


class Site:
    """What is copied, page by page, from where the navigation begins."""

    def __init__(self) -> None:
        self.waiting: list[pathlib.Path] = []
        self.known: set[pathlib.Path] = set()

    def want(self, path: pathlib.Path) -> None:
        if path not in self.known:
            self.known.add(path)
            self.waiting.append(path)

    def target(self, page: pathlib.Path, link: str) -> str:
        """The link in the site; what it leads to is wanted, too."""
        name, mark, heading = link.partition("#")
        if not name or re.match(r"^[a-z]+:", link):
            return link
        file = (page.parent / name).resolve()
        if not file.is_relative_to(ROOT) or not file.exists():
            raise SystemExit(f"site: {page.relative_to(ROOT)}: the link leads nowhere: {link}")
        self.want(file)
        if file.is_dir():
            name = name.rstrip("/") + "/README.md"
        elif file.suffix in LANGUAGES:
            name += ".md"
        return name + mark + heading

    def page(self, path: pathlib.Path) -> str:
        """The page with links and blocks as MkDocs wants them."""
        lines: list[str] = []
        fenced, previous = False, ""
        for line in path.read_text().splitlines():
            if FENCE.match(line):
                fenced = not fenced
            elif not fenced:
                item, table = LIST.match(line), line.startswith("|")
                in_list = LIST.match(previous) or previous.startswith("  ")
                if previous.strip() and ((item and not in_list) or (table and not previous.startswith("|"))):
                    lines.append("")
                parts = CODE_SPAN.split(line)
                line = "".join(p + "{.whole}" if SHORT_CODE.fullmatch(p) else p if p.startswith("`") else
                               LINK.sub(lambda m: m[1] + self.target(path, m[2]) + m[3], p) for p in parts)
            lines.append(line)
            previous = line
        return "\n".join(lines) + "\n"

    def folder(self, path: pathlib.Path) -> str:
        """A page that lists what is in a folder."""
        lines = [f"# {path.relative_to(ROOT)}", ""]
        for file in sorted(path.iterdir()):
            if file.is_file() and file.suffix in (*LANGUAGES, ".md"):
                lines.append(f"- [{title(file)}]({self.target(path / 'README.md', file.name)})")
        return "\n".join(lines) + "\n"

    def copy(self, path: pathlib.Path) -> None:
        place = SOURCE / path.relative_to(ROOT)
        if path.is_dir():
            if (path / "README.md").is_file():
                self.want(path / "README.md")
                return
            place, text = place / "README.md", self.folder(path)
        elif path.suffix == ".md":
            text = self.page(path)
        elif path.suffix in LANGUAGES:
            place = place.with_name(place.name + ".md")
            text = f"# {path.relative_to(ROOT)}\n\n````{LANGUAGES[path.suffix]}\n{path.read_text()}\n````\n"
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def options_page(program: str) -> str:
    """A page of what `ashlar help` prints, with a heading for each command."""
    def help_of(*command: str) -> str:
        return subprocess.run([program, "help", *command], check=True, capture_output=True, text=True).stdout.strip()
    text = f"# Options of each command\n\nWhat `ashlar help` prints.\n\n```text\n{help_of()}\n```\n"
    names = re.findall(r"^  ([a-z]+)  ", help_of(), re.M)
    if not names:
        raise SystemExit(f"site: {program} help lists no commands")
    for name in [*names, *re.findall(r"^  ashlar (tune [a-z]+)  ", help_of("tune"), re.M)]:
        text += f"\n## ashlar {name}\n\n```text\n{help_of(*name.split())}\n```\n"
    return text


def api_page() -> str:
    """A page that leads to Doxygen's, which are made here."""
    settings = (ROOT / "docs/Doxyfile").read_text() + f"""
        OUTPUT_DIRECTORY = {SOURCE}
        HTML_OUTPUT = api
        INPUT = ashlar
        USE_MDFILE_AS_MAINPAGE = ashlar/README.md
        WARN_LOGFILE = {SOURCE.parent}/site-api-warnings.txt
        """
    subprocess.run(["doxygen", "-"], cwd=ROOT, input=settings, text=True, check=True)
    return ("# The C++ API\n\nEach public header with its classes and functions, by Doxygen: "
            "[the API](../api/index.html), [all classes](../api/annotated.html), [all headers](../api/files.html). "
            "Begin with [which allocator?](which-allocator.md), which names the header for each use.\n")


def sample_page(program: str) -> str:
    """A page that leads to a report, which is made here."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(report_pictures.visits_page(program, pathlib.Path(folder)), SOURCE / "docs/sample-report.html")
    return ("# A sample report\n\nWhat `ashlar report` writes of the program of [find what to "
            "change](how-to/find-what-to-change.md), to click through: [the report](sample-report.html). "
            "[How to read it](how-to/read-the-report.md).\n")


def make_source(program: str, complete: bool) -> int:
    """Makes build/site-source anew; if `complete`, with what other programs make. Returns: the number of pages and
    other files."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    (SOURCE / "site.css").write_text(CSS)
    shutil.copy(ROOT / "scripts/site_iframe-worker.js", SOURCE / "iframe-worker.js")
    (SOURCE / OPTIONS).parent.mkdir()
    (SOURCE / OPTIONS).write_text(options_page(program))
    (SOURCE / API).write_text(api_page() if complete else "# The C++ API\n")
    (SOURCE / SAMPLE).write_text(sample_page(program) if complete else "# A sample report\n")
    site = Site()
    for name in re.findall(r"^\s*- (?:.*: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M):
        path = ROOT / name
        if name in (OPTIONS, API, SAMPLE):
            continue
        if not path.is_file() and not (path.name == "README.md" and path.parent.is_dir()):
            raise SystemExit(f"site: mkdocs.yml names a page that is not there: {name}")
        site.want(path if path.is_file() else path.parent)
    while site.waiting:
        site.copy(site.waiting.pop())
    return len(site.known)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation as a site, in build/site.")
    parser.add_argument("--program", required=True, metavar="FILE", help="the command ashlar, whose options have a page")
    parser.add_argument("--no-build", action="store_true", help="make build/site-source only, which needs no network")
    options = parser.parse_args()
    print(f"site: {make_source(str(pathlib.Path(options.program).resolve()), not options.no_build)} pages and files in {SOURCE.relative_to(ROOT)}")
    if options.no_build:
        return 0
    install(VENV, *PACKAGES)
    built = subprocess.run([VENV / "bin/mkdocs", "build", "--strict", "--quiet"], cwd=ROOT, check=False,
                           env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if built.returncode == 0:
        print("build/site/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
