#!/usr/bin/env python3
"""Looks at the page of `ashlar report FOLDER` in a browser: the table of processes, and the choice of one.

Run: tree_page_test.py ASHLAR      Without Chromium (scripts/setup.sh browser) the exit status is 77.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import browser

# Program, process, parent, bytes of its one block. One program's name would end a script.
PROCESSES = [("make", 10, 1, 100), ("cc<!--<script>", 20, 10, 5000), ("as", 30, 20, 300), ("quiet", 40, 10, 7)]

TABLE = """[...document.querySelectorAll('#processes tbody tr')].map(row => ({
  cells: [...row.cells].map(cell => cell.textContent), shown: row.className === 'shown',
  link: row.querySelector('a')?.getAttribute('href') ?? null, indent: parseFloat(row.cells[0].style.paddingInlineStart)}))"""
HEAD = "[document.querySelector('#program').textContent, document.querySelector('#tiles dd').firstChild.textContent]"


def make_folder(ashlar: str, folder: Path) -> None:
    """A recording whose index is made up: its times are known."""
    folder.mkdir()
    processes = []
    for i, (name, pid, parent, size) in enumerate(PROCESSES):
        arguments = [name, "-v"]
        text = ["ashlar-trace-text 1", f"header program /usr/bin/{name}", f"header arguments {name}\\00-v\\00",
                f"header pid {pid}", "header ticks_per_second 1000",
                f"{1000 * i} 1 malloc 0x1000 {size}", f"{1000 * i + 500} 1 free 0x1000"]
        trace = f"{pid}.atrace"
        subprocess.run([ashlar, "export", "--from-text", "-", "-o", folder / trace], check=True,
                       input="\n".join(text) + "\n", text=True)
        processes.append({
            "pid": pid, "parent": parent, "program": f"/usr/bin/{name}", "arguments": arguments,
            "executed_before": [], "begin_seconds": float(i), "end_seconds": None if i == 3 else i + 0.5,
            "exit_status": 2 if i == 1 else None, "signal": 9 if i == 0 else None, "recorded": True, "trace": trace,
            "events": 2, "births": 1, "allocated_bytes": size, "peak_bytes": size, "held_bytes": 0})
    index = {"ashlar": "0", "schema": 1, "report": "recording", "recording": "0", "started": 1700000000,
             "command": ["make", "all"], "seconds": 4.0, "bytes_over_time": [100, 5000, 300, 7], "processes": processes}
    (folder / "index.json").write_text(json.dumps(index))


def faults_of(b: browser.Browser, page: Path) -> list[str]:
    faults = []

    def expect(what: str, found, expected) -> None:
        if found != expected:
            faults.append(f"{what}: {found}, not {expected}")
    b.open(page, 960, 900)
    expect("the one that allocated most", b.evaluate(HEAD), ["cc<!--<script>", "4.9 KiB"])
    rows = b.evaluate(TABLE)
    expect("the tree's order", [row["cells"][0] for row in rows], ["make", "cc<!--<script>", "as", "quiet"])
    expect("its depths", [rows[i]["indent"] > rows[j]["indent"] for i, j in ((1, 0), (2, 1), (2, 3))], [True] * 3)
    expect("its ends", [row["cells"][4] for row in rows], ["signal 9", "exit 2", "?", "still ran"])
    expect("figures", rows[1]["cells"][1:4] + rows[1]["cells"][5:], ["20", "1.000", "1.500", "4.9 KiB", "4.9 KiB", "0 B"])
    expect("which is shown", [row["shown"] for row in rows], [False, True, False, False])
    expect("links", [row["link"] for row in rows], ["?process=10", None, "?process=30", "?process=40"])
    b.evaluate("document.querySelector('#processes a[href=\"?process=30\"]').click()")
    b.wait_until("location.search === '?process=30' && document.readyState === 'complete'")
    expect("the chosen one", b.evaluate(HEAD), ["as", "300 B"])
    expect("which is shown then", [row["shown"] for row in b.evaluate(TABLE)], [False, False, True, False])
    return faults + b.problems


def main() -> int:
    ashlar = str(Path(sys.argv[1]).resolve())
    program = browser.find()
    if program is None:
        print("no Chromium (scripts/setup.sh browser)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder, page = Path(name) / "run.atree", Path(name) / "page.html"
        make_folder(ashlar, folder)
        subprocess.run([ashlar, "report", folder, "-o", page], check=True)
        with browser.Browser(program) as b:
            faults = faults_of(b, page)
    print("\n".join(faults) or "the page is right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
