#!/usr/bin/env python3
"""Looks at two pages of `ashlar report` in a browser: of a tree of processes the table and the choice of one; of pinned pages
the data, the picture, the slider and the flame graph. Faults are planted into the latter: each has to be seen.

Run: parts_test.py ASHLAR      Without Chromium (scripts/setup.sh browser) only the data are looked at, and the status is 77.
"""
import json
from pathlib import Path

import browser

# Program, process, parent, bytes of its one block. One program's name would end a script.
PROCESSES = [("make", 10, 1, 100), ("cc<!--<script>", 20, 10, 5000), ("as", 30, 20, 300), ("quiet", 40, 10, 7)]

TABLE = """[...document.querySelectorAll('#processes tbody tr')].map(row => ({
  cells: [...row.cells].map(cell => cell.textContent), shown: row.className === 'shown',
  link: row.querySelector('a')?.getAttribute('href') ?? null, indent: parseFloat(row.cells[0].style.paddingInlineStart)}))"""
HEAD = "[document.querySelector('#program').textContent, document.querySelector('#tiles dd').firstChild.textContent]"


def make_folder(command: browser.Command) -> None:
    folder = command.folder / "run.atree"
    """A recording whose index is made up: its times are known."""
    folder.mkdir()
    record = browser.Command(command.path, folder).record
    processes = []
    for i, (name, pid, parent, size) in enumerate(PROCESSES):
        arguments = [name, "-v"]
        record(str(pid), ["ashlar-trace-text 1", f"header program /usr/bin/{name}", f"header arguments {name}\\00-v\\00",
                          f"header pid {pid}", "header ticks_per_second 1000",
                          f"{1000 * i} 1 malloc 0x1000 {size}", f"{1000 * i + 500} 1 free 0x1000"])
        processes.append({
            "pid": pid, "parent": parent, "program": f"/usr/bin/{name}", "arguments": arguments,
            "executed_before": [], "begin_seconds": float(i), "end_seconds": None if i == 3 else i + 0.5,
            "exit_status": 2 if i == 1 else None, "signal": 9 if i == 0 else None, "recorded": True, "trace": f"{pid}.atrace",
            "events": 2, "births": 1, "allocated_bytes": size, "peak_bytes": size, "held_bytes": 0,
            "resident_bytes": 2 * size})
    index = {"ashlar": "0", "schema": 1, "report": "recording", "recording": "0", "started": 1700000000,
             "command": ["make", "all"], "seconds": 4.0, "bytes_over_time": [100, 5000, 300, 7], "processes": processes}
    (folder / "index.json").write_text(json.dumps(index))


def tree_faults(b: browser.Browser, page: Path) -> list[str]:
    faults = []

    def expect(what: str, found, expected) -> None:
        if found != expected:
            faults.append(f"{what}: {found}, not {expected}")
    b.open(page, 960, 900)
    expect("the one that had most memory", b.evaluate(HEAD), ["cc<!--<script>", "4.9 KiB"])
    rows = b.evaluate(TABLE)
    expect("the tree's order", [row["cells"][0] for row in rows], ["make", "cc<!--<script>", "as", "quiet"])
    expect("its depths", [rows[i]["indent"] > rows[j]["indent"] for i, j in ((1, 0), (2, 1), (2, 3))], [True] * 3)
    expect("its ends", [row["cells"][8] for row in rows], ["signal 9", "exit 2", "?", "still ran"])
    expect("figures", rows[1]["cells"][1:8], ["9.8 KiB", "4.9 KiB", "0 B", "4.9 KiB", "20", "1.000", "1.500"])
    expect("which is shown", [row["shown"] for row in rows], [False, True, False, False])
    expect("links", [row["link"] for row in rows], ["?process=10", None, "?process=30", "?process=40"])
    b.evaluate("document.querySelector('#processes a[href=\"?process=30\"]').click()")
    b.wait_until("location.search === '?process=30' && document.readyState === 'complete'")
    expect("the chosen one", b.evaluate(HEAD), ["as", "300 B"])
    expect("which is shown then", [row["shown"] for row in b.evaluate(TABLE)], [False, False, True, False])
    return faults + b.problems


# ---- pinned pages ------------------------------------------------------------------------------------------

PAGES = 640
PLANTS = [
    {"a picture that does not follow the slider": ("drawCells(canvas, now.cells);", "drawCells(canvas, moments[0].cells);", "last cell")},
    {"a colour that is not the legend's": ("pen.fillStyle = colours.get(cell);", "pen.fillStyle = 'red';", "last cell")},
    {"a picture without words": ("`The pages at ${text}`", "'the pages'", "readout")},
]


def trace_lines() -> list[str]:
    """Pages of 16 blocks each. One stays in each: of line 2 in the lower half, of line 3 in the upper one."""
    lines = ["ashlar-trace-text 1", "header program /usr/bin/parser", "header ticks_per_second 1000000",
             "module 0x1000 0x9000 0x0 /nowhere/parser"]
    lines += [f"stack {n} {0x1000 + n * 16:#x} 0x3000" for n in (1, 2, 3)]
    time = 0
    for page in range(PAGES):
        for block in range(16):
            time += 1
            stack = 1 if block else 2 if page < PAGES // 2 else 3
            lines.append(f"{time} 1 malloc {0x100000 + page * 4096 + block * 256:#x} 256 stack={stack}")
    for page in range(PAGES):
        for block in range(1, 16):
            time += 1
            lines.append(f"{time} 1 free {0x100000 + page * 4096 + block * 256:#x}")
    lines.append(f"{2 * time} 1 malloc 0x10 16 stack=1")
    return lines


def data_faults(pins: dict) -> list[str]:
    faults = []
    moments = pins["moments"]
    if len(moments) != 50 or {len(m["cells"]) for m in moments} != {PAGES + 1}:
        faults.append("the picture has not 50 moments of a cell for each page")
    if sum(line["pinned_bytes"] for line in pins["lines"]) != pins["moment"]["pinned_bytes"]:
        faults.append("the lines' pinned bytes do not add up")
    if pins["tree"][0]["pinned_bytes"] != pins["moment"]["pinned_bytes"]:
        faults.append("the tree's pinned bytes do not add up")
    if pins["moment"]["pinned_bytes"] != PAGES * (4096 - 256) or pins["moment"]["is_end"]:
        faults.append(f"pinned are {pins['moment']}")
    if [line["pages_alone"] for line in pins["lines"]] != [PAGES // 2] * 2:
        faults.append("each line has half of the pages alone")
    last = moments[-1]["cells"].lstrip("+.")  # the cell of the last block
    if sorted({last[:PAGES // 2], last[PAGES // 2:]}) != ["a" * (PAGES // 2), "b" * (PAGES // 2)]:
        faults.append(f"the last picture is {last}")
    return faults


PICTURE = """(() => {
  const section = document.getElementById('pins'), canvas = section.querySelector('canvas');
  const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width, copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext('2d', {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const at = (x, y) => [...pen.getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
  const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (colour) => { probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const legend = Object.fromEntries([...section.querySelectorAll('.legend li')].map((li) =>
    [li.textContent, rgb(getComputedStyle(li.querySelector('.swatch')).backgroundColor)]));
  return {first: at(30, 2), last: at(2, box.height - 4), legend, text: section.querySelector('output').textContent,
    label: canvas.getAttribute('aria-label'), wide: document.documentElement.scrollWidth, height: box.height};
})()"""
MOVE = "(() => {{ const s = document.querySelector('#pins input[type=range]'); s.value = {}; s.dispatchEvent(new Event('input')); }})()"


def near(a: list[int], b: list[int]) -> bool:
    return max(abs(x - y) for x, y in zip(a, b)) <= 3


def pins_faults(b: browser.Browser, page: Path, pins: dict) -> list[str]:
    faults = []
    for width, theme in ((1280, "light"), (390, "dark")):
        b.prefer(theme)
        b.open(page, width)
        for moment, word in ((49, "keep"), (0, "free")):
            b.evaluate(MOVE.format(moment))
            b.settle()
            seen = b.evaluate(PICTURE)
            where = f"{width} px, {theme}, moment {moment}: "
            hollow = f"{pins['moments'][moment]['hollow_pages']:,} hollow pages"
            if hollow not in seen["text"] or hollow not in seen["label"]:
                faults.append(f"{where}the readout is {seen['text']}")
            if seen["wide"] > width:
                faults.append(f"{where}the page is {seen['wide']} px wide")
            names = [name for name in seen["legend"] if name not in ("free", "in use")]
            cell = pins["moments"][moment]["cells"][-1]
            expected = seen["legend"]["free"] if word == "free" else seen["legend"][names["ab".index(cell)]]
            if not near(seen["last"], expected) and seen["last"] != [0, 0, 0]:
                faults.append(f"{where}the last cell is {seen['last']}, not {expected}")
            if seen["last"] == [0, 0, 0]:
                faults.append(f"{where}nothing is drawn")
    boxes = b.evaluate("document.querySelectorAll('#pins .flame button').length")
    if boxes != len(pins["tree"]):
        faults.append(f"the flame graph has {boxes} boxes of {len(pins['tree'])}")
    return faults + b.problems


def make(command: browser.Command) -> dict:
    make_folder(command)
    command("report", "run.atree", "-o", "tree.html")
    command.record("run", trace_lines())
    command("report", "run.atrace", "-o", "pins.html", "--json=data.json")
    pins = json.loads((command.folder / "data.json").read_text())["pins"]
    faults, text = data_faults(pins), command("report", "--text", "run.atrace")
    if faults or "\npinned at 0.02 s, behind the peak: 2.3 MiB in 640 pages" not in text:
        raise SystemExit("\n".join([*faults, f"the text says {text}"]))
    return pins


def look(b: browser.Browser, command: browser.Command, pins: dict, _planted: bool) -> list[str]:
    page = command.folder / "pins.html"
    faults = tree_faults(b, command.folder / "tree.html") + pins_faults(b, page, pins)
    return faults + browser.missed_plants(b, page, PLANTS, lambda page: pins_faults(b, page, pins))


if __name__ == "__main__":
    browser.test_pages(make, look)
