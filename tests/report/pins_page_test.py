#!/usr/bin/env python3
"""The section of pinned pages: its data, and in a browser its picture, slider and flame graph.

Usage: pins_page_test.py ASHLAR    Ends with 77 where there is no browser; the data were looked at all the same.
Faults are planted into the page, too: each has to be seen.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import browser

PAGES = 640
PLANTS = {
    "a picture that does not follow the slider": ("drawCells(canvas, now.cells);", "drawCells(canvas, moments[0].cells);"),
    "a colour that is not the legend's": ("pen.fillStyle = colours.get(cell);", "pen.fillStyle = 'red';"),
    "a picture without words": ("`The pages at ${text}`", "'the pages'"),
}


def trace_text() -> str:
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
    return "\n".join(lines) + "\n"


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


def page_faults(b: browser.Browser, page: Path, pins: dict) -> list[str]:
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


def main() -> int:
    ashlar = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(*words: str) -> str:
            return subprocess.run([ashlar, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
        (folder / "run.txt").write_text(trace_text())
        run("export", "--from-text", "run.txt", "-o", "run.atrace")
        run("report", "run.atrace", "-o", "page.html", "--json=data.json")
        pins = json.loads((folder / "data.json").read_text())["pins"]
        faults = data_faults(pins)
        text = run("report", "--text", "run.atrace")
        if "\npinned at 0.02 s, behind the peak: 2.3 MiB in 640 pages" not in text:
            faults.append(f"the text says {text}")
        program = browser.find()
        if program is not None:
            with browser.Browser(program) as b:
                faults += page_faults(b, folder / "page.html", pins)
                for what, (right, wrong) in PLANTS.items():
                    page = (folder / "page.html").read_text()
                    if page.count(right) != 1:
                        faults.append(f"{what} cannot be planted")
                    (folder / "planted.html").write_text(page.replace(right, wrong))
                    b.problems.clear()
                    if not page_faults(b, folder / "planted.html", pins):
                        faults.append(f"{what} is not seen")
        print("\n".join(faults) or "the page is right")
        return 1 if faults else 77 if program is None else 0


if __name__ == "__main__":
    sys.exit(main())
