#!/usr/bin/env python3
"""Makes the pictures of the report's page in docs/ again: records the programs, and takes the pages' tops.

Run: scripts/report_pictures.py ASHLAR      Needs Chromium (scripts/setup.sh browser), g++ and sqlite3.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/report"))
import browser  # noqa: E402


def report(ashlar: str, folder: Path, *program: str) -> Path:
    def run(*words: str) -> None:
        subprocess.run([ashlar, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run("record", "--stacks", "-o", "run.atrace", "--", *program)
    run("report", "run.atrace", "-o", "page.html")
    return folder / "page.html"


def visits_page(ashlar: str, folder: Path) -> Path:
    """The page of README.md and docs/report.md."""
    source = ROOT / "examples/tutorials/visits.cpp"
    subprocess.run(["g++", "-std=c++20", "-O2", "-g", "-o", folder / "visits", source], check=True)
    return report(ashlar, folder, "./visits")


def sqlite_page(ashlar: str, folder: Path) -> Path:
    """The page that docs/how-to/read-the-report.md records."""
    page = (ROOT / "docs/how-to/read-the-report.md").read_text()
    work = re.search(r"<!-- file work.sql -->\n```sql\n(.*?)```", page, re.S).group(1)
    (folder / "work.sql").write_text(work)
    return report(ashlar, folder, "sqlite3", ":memory:", ".read work.sql")


PICTURES = [("docs/report.webp", visits_page, 960, 1425), ("docs/how-to/report-top.webp", sqlite_page, 720, 1232)]


def main() -> int:
    ashlar, program = str(Path(sys.argv[1]).resolve()), browser.find()
    if program is None:
        print("report_pictures: no Chromium (scripts/setup.sh browser)", file=sys.stderr)
        return 1
    with browser.Browser(program) as b:
        b.prefer("light")
        for picture, make, width, height in PICTURES:
            with tempfile.TemporaryDirectory() as folder:
                b.open(make(ashlar, Path(folder)), width, height)
                b.picture(ROOT / picture, whole=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
