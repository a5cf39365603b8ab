#!/usr/bin/env python3
"""Looks at the page of `ashlar diff -o` in a browser: its figures are those of --json, by keyboard too.

Run: diff_page_test.py ASHLAR [--planted]      --planted: with faults put into the page, each of which must be found.
Without Chromium (scripts/setup.sh browser) the exit status is 77.
"""
import json
import re
from pathlib import Path

import browser
from browser import size, whole

WIDTHS = [390, 720, 1280]
FIGURES = {"peak": "bytes_at_peak", "held": "bytes_at_end", "allocated": "bytes", "allocations": "births",
           "temporaries": "temporaries"}
FUNCTIONS = ["parse", "read_line", "intern", "emit", "fold"]
PROGRAM = "</script><b>parser"

TOTALS = "[...document.querySelector('#totals table').tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
TABLES = """Object.fromEntries([...document.querySelectorAll('main details table')].map(table => [table.caption.textContent,
  [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))]))"""
CHANGES = """[...document.querySelector('#changes tbody').rows].map(row => [row.cells[0].title, ...[...row.cells].slice(1, 3).map(
  cell => Number(cell.title.replaceAll(',', ''))), row.cells[3].title, row.cells[4].textContent])"""


def trace_lines(is_after: bool) -> list[str]:
    """A program before and after a change: one function allocates more, one less, one is new, one is gone."""
    lines = ["ashlar-trace-text 1", f"header program /usr/bin/{PROGRAM}", "header arguments parser\\00in<put\\00",
             "header ticks_per_second 1000000", "module 0x1000 0x9000 0x0 /nowhere/parser"]
    for i in range(len(FUNCTIONS)):
        lines.append(f"stack {i + 1} {0x1010 + 16 * i:#x} 0x2000")
    for i, function in enumerate(FUNCTIONS):
        lines.append(f"name {0x1010 + 16 * i:#x} {function} /src/{'text' if i < 3 else 'code'}.cpp {10 * i + 5 + is_after}")
    lines.append("name 0x2000 main /src/main.cpp 3")
    time = block = 0

    def holds(function: str, blocks: int, size: int, free: bool = False) -> None:
        nonlocal time, block
        for _ in range(blocks):
            time, block = time + 100, block + 1
            lines.append(f"{time} 1 malloc {4096 * block:#x} {size} stack={FUNCTIONS.index(function) + 1}")
            if free:
                time += 100
                lines.append(f"{time} 1 free {4096 * block:#x}")
    holds("parse", 10, 100)
    holds("read_line", 200 if is_after else 300, 48, free=True)
    holds("intern", 40, 3000 if is_after else 1000)
    holds("fold", 7, 700) if is_after else holds("emit", 9, 700)
    return lines


def make(command: browser.Command) -> tuple[Path, dict]:
    """Returns: the page, and what --json writes beside it."""
    for name in ("before", "after"):
        command.record(name, trace_lines(name == "after"))
    told = command("diff", "-o", "diff.html", "--json=diff.json", "--fail-above", "1KiB", "before.atrace", "after.atrace", status=1)
    page, data = command.folder / "diff.html", json.loads((command.folder / "diff.json").read_text())
    if "--fail-above" not in told or browser.page_data(page.read_text()) != data:
        raise SystemExit(f"the page's data are not what --json writes, or --fail-above is not told: {told}")
    return page, data


def signed(n: float, text) -> str:
    return ("−" if n < 0 else "+") + text(abs(n))


def percent(before: int, after: int) -> str:
    return signed(100 * (after / before - 1), lambda n: f"{n:.1f} %") if before and before != after else "–"


def total_faults(b: browser.Browser, data: dict) -> list[str]:
    expected = []
    for label, key in zip(("at the peak", "held at the end", "allocated", "allocations", "temporaries"), FIGURES.values()):
        text = whole if key in ("births", "temporaries") else size
        before, after = data["before"][key], data["after"][key]
        change = "the same" if before == after else signed(after - before, text)
        expected.append([label, text(before), text(after), change, percent(before, after)])
    shown = b.evaluate(TOTALS)
    return [] if shown == expected else [f"totals: {shown}, not {expected}"]


def group_of(site: dict, by: str) -> str:
    line = site["site"]
    where = re.sub(r":\d+$", "", line["source"])
    return {"site": f"{line['name']} at {line['source']}", "function": line["name"], "file": where,
            "module": line["module"]}[by]


def expected_changes(data: dict, figure: str, by: str = "site", words: str = "") -> list[list]:
    """The groups that changed, the largest change first."""
    key, groups = FIGURES[figure], {}
    for i, site in enumerate(data["call_sites"]):
        text = " ".join([*site["frames"], *site["sources"], site["site"]["module"]])
        if all(word in text for word in words.split()):
            group = groups.setdefault((i if by == "site" else 0, group_of(site, by)), [0, 0, 0, 0])
            for k, (side, name) in enumerate((s, n) for n in (key, "births") for s in ("before", "after")):
                group[k] += site[side][name]
    rows = []
    for (_, name), (before, after, births_before, births_after) in groups.items():
        state = percent(before, after)
        if by == "site":  # a function may have call sites that did not change
            state = "new" if births_before == 0 else "gone" if births_after == 0 else state
        if before != after:
            rows.append([name, before, after, signed(after - before, whole), state])
    return sorted(rows, key=lambda row: -abs(row[2] - row[1]))


def change_faults(b: browser.Browser, data: dict) -> list[str]:
    faults = []

    def compare(what: str, expected: list) -> None:
        shown = b.evaluate(CHANGES)
        if shown != expected:
            faults.append(f"changes {what}: {shown}, not {expected}")

    def choose(name: str, value: str) -> None:
        b.evaluate(f"document.querySelector('input[name={name}][value={value}]').click()")
    for figure in FIGURES:
        choose("changes-measure", figure)
        for by in ("function", "file", "module", "site"):
            choose("changes-by", by)
            compare(f"of {figure} by {by}", expected_changes(data, figure, by))
    choose("changes-measure", "peak")
    if len(expected_changes(data, "peak")) != 3:
        faults.append("changes: the test's recordings are not what they should be")
    # By keyboard: from the search to the headings.
    b.evaluate("document.querySelector('#changes input[type=search]').focus()")
    for letter in "main fold":
        b.press(letter, letter)
    compare("searched by keyboard", expected_changes(data, "peak", words="main fold"))
    b.evaluate("(box => { box.value = ''; box.dispatchEvent(new Event('input')); })(document.activeElement)")
    stops = []
    for _ in range(12):
        b.press("Tab")
        stops.append(b.evaluate("document.activeElement.textContent"))
        if stops[-1] == "before":
            break
    for rising in (False, True):
        b.press("Enter")
        values = [row[1] for row in b.evaluate(CHANGES)]
        sort = b.evaluate("document.querySelector('#changes th:nth-child(2)').ariaSort")
        if values != sorted(values, reverse=not rising) or sort != ("ascending" if rising else "descending"):
            faults.append(f"changes sorted by keyboard, after {stops}: {sort}, {values}")
    opened = b.evaluate("(s => { s.click(); return [...s.parentNode.querySelectorAll('li')].map(li => li.textContent); })"
                        "(document.querySelector('#changes .stack summary'))")
    first = next(s for s in data["call_sites"] if s["before"]["bytes_at_peak"] == min(row[1] for row in expected_changes(data, "peak")))
    if opened != [f"{name} at {source}" for name, source in zip(first["frames"], first["sources"])]:
        faults.append(f"changes: the calls are {opened}")
    return faults


def figure_faults(b: browser.Browser, data: dict) -> list[str]:
    """The tables behind the charts; the readout of each pair of bars."""
    shown, faults = b.evaluate(TABLES), []
    sizes = [[whole(s["least"]) if s["least"] == s["most"] else f"{whole(s['least'])} to {whole(s['most'])}",
              *(whole(s[side][key]) for key in FIGURES.values() for side in ("before", "after"))] for s in data["sizes"]]
    if not sizes or shown.get("Sizes that changed, one by one up to 1 KiB") != sizes:
        faults.append(f"sizes: {shown.get('Sizes that changed, one by one up to 1 KiB')}, not {sizes}")
    rows = shown.get("Live bytes over time", [])
    for column, side in ((1, "before"), (2, "after")):
        course = data[side]["over_time"]
        if max(course["live_bytes"]) != data[side]["bytes_at_peak"] or abs(course["seconds"][-1] - data[side]["seconds"]) > 1e-9:
            faults.append(f"over time: the JSON's course of {side} does not fit its totals")
        told = {float(row[0]): row[column] for row in rows}
        for second, live in zip(course["seconds"], course["live_bytes"]):
            if told.get(float(f"{second:.7g}")) != whole(live):
                faults.append(f"over time: {side}, {second} s: {told.get(float(f'{second:.7g}'))}, not {live}")
                break
    for figure, key in FIGURES.items():
        b.evaluate(f"document.querySelector('input[name=compared-measure][value={figure}]').click()")
        b.evaluate("document.querySelector('#compared .chart').focus()")
        text = whole if key in ("births", "temporaries") else size
        for i, r in enumerate(data["doublings"]):
            b.press("Home" if i == 0 else "ArrowRight")
            told = b.evaluate("document.querySelector('#compared .readout').textContent")
            words = [f"{whole(r['least'])} to {whole(r['most'])} bytes", f"{text(r['before'][key])} before", f"{text(r['after'][key])} after"]
            if not all(word in told for word in words):
                faults.append(f"bars of {figure}: '{told}', not {words}")
    return faults


def print_faults(b: browser.Browser, folder: Path) -> list[str]:
    faults = browser.paper_faults(b, folder, 1, 3)
    b.resize(690, 900)  # DIN A4 without its margins
    b.call("Emulation.setEmulatedMedia", media="print")
    b.settle()
    wide, place = b.evaluate("[document.documentElement.scrollWidth, document.querySelector('#changes td').innerText]")
    if wide > 690:
        faults.append(f"print: {wide} px wide")
    if not re.search(r"\.cpp:\d", place.split("\n")[0]):
        faults.append(f"print: a call site is '{place}', without its line")
    b.call("Emulation.setEmulatedMedia", media="")
    b.evaluate("dispatchEvent(new Event('afterprint'))")
    return faults


def faults_of(b: browser.Browser, page: Path, data: dict, folder: Path, widths: list[int]) -> list[str]:
    faults = []
    b.problems.clear()
    for width in widths:
        for theme in ("light", "dark"):
            where = f"{width} px, {theme}"
            b.prefer(theme)
            b.open(page, width)
            faults += browser.chart_faults(b, where, 2)
            wide = b.evaluate("Math.max(...['html', '.totals'].map(name => (e => e.scrollWidth - e.clientWidth)("
                              "document.querySelector(name))))")
            if wide > 0:
                faults.append(f"{where}: {wide} px too wide")
    head = b.evaluate("[document.querySelector('#program').textContent, document.querySelector('#about').textContent]")
    if head[0] != PROGRAM.split("/")[-1] or not all(word in head[1] for word in ("before.atrace: parser in<put", "after.atrace")):
        faults.append(f"head: {head}")
    faults += total_faults(b, data) + change_faults(b, data) + figure_faults(b, data) + print_faults(b, folder)
    return faults + b.problems


def same_faults(b: browser.Browser, command: browser.Command) -> list[str]:
    """Of one recording twice nothing changed; of a cut one the page says so."""
    whole_trace = (command.folder / "before.atrace").read_bytes()
    (command.folder / "cut.atrace").write_bytes(whole_trace[:-3])
    faults = []
    for other, words in (("before", "None: 4 have the same figures"), ("cut", "The trace after is not whole")):
        command("diff", "-o", "same.html", "before.atrace", f"{other}.atrace")
        b.open(command.folder / "same.html", 390)
        if words not in b.evaluate("document.querySelector('main').textContent"):
            faults.append(f"before and {other}: the page does not say '{words}'")
    return faults


# What is replaced, by what, a word of what must be told. None of them hides another.
PLANTS = {
    "an error on the console": ("startPrinting(drawLater);\n", "console.error('planted'); startPrinting(drawLater);\n", "console.error"),
    "totals of the wrong run": ("format(before[key]),", "format(after[key]),", "totals: "),
    "a change without its sign": ("weight: size,", "weight: change,", "changes of peak"),
    "a search that is not heard": ('search.addEventListener("input"', 'search.addEventListener("planted"', "searched by keyboard"),
    "a choice that is not heard": ("figure = comparedFigure(data, by);\n        draw();", "draw();", "changes of allocations"),
    "bars that keep their figure": ("figure = comparedFigure(data, by);\n      plot", "plot", "bars of allocations"),
    "a run that is too short": ("while (stretch < ends.length && ends[stretch] < time)", "while (ends[stretch] <= time)", "over time: "),
    "a table that is too wide": (".totals td.text { white-space: normal; }", ".totals td.text { min-width: 400px; }", "px too wide"),
    "bars without colour": ("...sideColours.map((fill, i) => ({ fill, paths", '...sideColours.map((fill, i) => ({ fill: "transparent", paths',
                            "is blank"),
}


def look(b: browser.Browser, command: browser.Command, made: tuple[Path, dict], planted: bool) -> list[str]:
    page, data = made
    if planted:
        return browser.missed_plants(b, page, [PLANTS], lambda page: faults_of(b, page, data, command.folder, [390]))
    faults = faults_of(b, page, data, command.folder, WIDTHS)
    b.problems.clear()
    return faults + same_faults(b, command) + b.problems


if __name__ == "__main__":
    browser.test_pages(make, look)
