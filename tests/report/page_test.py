#!/usr/bin/env python3
"""Looks at the page of `ashlar report` as its readers do: in a browser, by keyboard, on paper.

Run: page_test.py ASHLAR [--planted]      --planted: with faults put into the page, each of which must be found.
Without Chromium (scripts/setup.sh browser) only the page's text is checked, and the exit status is 77.
"""
import json
import random
import re
from pathlib import Path

import browser
from browser import size, whole

WIDTHS = [390, 1600]
TURNS = [720, 901, 961]  # on both sides of where the page changes its shape
EVENTS = 20_000


def trace_lines() -> list[str]:
    """A program with two threads that grows, works and shrinks; stacks, alignments, a waste, requests that a pool refused, a name
    that would end a script."""
    rng = random.Random(4)
    lines = ["ashlar-trace-text 1", "header program /usr/bin/</script><b>parser",
             "header arguments parser\\00</script>\\00",
             "header ticks_per_second 1000000000", "header started 1700000000",
             "module 0x1000 0x9000 0x0 /nowhere/parser"]
    for number in range(1, 10):
        lines.append(f"stack {number} {0x1000 + number * 16:#x} {0x2000 + number % 3 * 16:#x} 0x3000")
    sizes = [16, 24, 40, 48, 72, 100, 160, 300, 1000, 4096, 30000, 200000]
    live: list[int] = []
    time, address = 0, 0x100000
    for i in range(EVENTS):
        time += rng.randrange(1, 20000)
        growing = 0.75 if i < EVENTS * 0.4 else 0.5 if i < EVENTS * 0.8 else 0.2
        thread = rng.randrange(1, 3)
        if rng.random() < growing or not live:
            size = int(rng.choices(sizes, weights=[1 / (n + 1) for n in range(len(sizes))])[0] * rng.uniform(0.7, 1))
            address += 0x100000
            aligned = " align=64" if rng.random() < 0.02 else ""
            lines.append(f"{time} {thread} malloc {address:#x} {size}{aligned} stack={rng.randrange(1, 9)}")
            live.append(address)
        else:
            dead = live.pop(rng.randrange(max(0, len(live) - 200), len(live)))
            lines.append(f"{time} {thread} free {dead:#x}")
        if i % 4 == 0:  # a temporary block, which is a finding
            lines.append(f"{time} {thread} malloc 0x10000 64 stack=9")
            lines.append(f"{time} {thread} free 0x10000")
        if i % 1000 == 0:
            lines.append(f"{time} {thread} refused 24 messages")
        if i % 200 == 0:
            lines.append(f"memory {time} {(i + 1) * 1000} 0")
        if i == 8000:  # malloc's, a library, and what the program maps itself: malloc has little
            lines.append(f"memory {time} 100000000 110000000 4 0x100000 {address + 0x100000:#x} 40000000 \\e "
                         "1 0x0 0x0 10000000 </script><b>lib.so 4 0x0 0x0 50000000 V8")
    return lines


def spread(middle: float) -> dict:
    return {"median": middle, "min": middle * 0.9, "max": middle * 1.2}


ALLOCATORS = {"system": 1.0, "ashlar": 0.8, "jemalloc": 0.9}


def pools() -> dict:
    sizes = [(32, 3000), (80, 2500), (176, 900), (512, 500), (4096, 400), (30000, 100)]
    return {"certificate": 2, "total_bytes": 4_000_000, "margin_percent": 10, "inputs": [{"file": "run.atrace"}],
            "classes": [{"block_size": s, "alignment": 64 if s % 64 == 0 else 16, "capacity": c} for s, c in sizes]}


def replay() -> dict:
    def times(factor: float) -> dict:
        names = ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "longest_ns"]
        return {"calls": 10000} | {n: int(20 * factor * 4 ** i) for i, n in enumerate(names)}
    return {"report": "replay", "schema": 1, "trace": "run.atrace", "outcomes": [
        {"on": n, "runs": 5, "failures": 0, "wall_seconds": spread(0.3 * f), "processor_seconds": spread(0.29 * f),
         "peak_rss_bytes": spread(int(40e6 * f)), "latencies": {"malloc": times(f), "free": times(f * 0.7)}}
        for n, f in ALLOCATORS.items()]}


def make(command: browser.Command) -> tuple[Path, dict]:
    """A small recorded run and what the other commands say of it. Returns: the page, and the data that --json prints beside it."""
    command.record("run", trace_lines())
    for name, content in {"pools": pools(), "replay": replay()}.items():
        (command.folder / f"{name}.json").write_text(json.dumps(content))
    printed = command("report", "run.atrace", "--json", "-o", "page.html", "--pools", "pools.json",
                      "--replay", "replay.json")
    page = command.folder / "page.html"
    if browser.page_data(page.read_text()) != json.loads(printed):
        raise SystemExit("the page's data are not what --json prints")
    return page, json.loads(printed)


TABLES = """Object.fromEntries([...document.querySelectorAll('table')].map(table => [table.caption.textContent,
  [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))]))"""


TILES = """Object.fromEntries([...document.querySelectorAll('#tiles > div')].map(tile =>
  [tile.querySelector('dt').textContent, tile.querySelector('dd').textContent]))"""


FINDINGS = """[...document.querySelectorAll('.findings li')].map(item =>
  [item.querySelector('h3').textContent, item.querySelector('.saving').textContent, item.querySelector('code').title])"""


def same(cell: str, expected) -> bool:
    """Whole numbers have separators; others seven digits; texts are as they are."""
    if isinstance(expected, int):
        return cell == whole(expected)
    if isinstance(expected, float):
        return cell not in ("", "–") and abs(float(cell) - expected) <= 1e-6 * abs(expected)
    return cell == expected


def memory_course(data: dict) -> list[list]:
    """Beside what was in memory, what lived: the last point of the timeline before it, or the first of all."""
    t, course = data["timeline"], data["memory"]["over_time"]
    return [[float(s), resident, t["live_bytes"][max(sum(at <= s for at in t["seconds"]) - 1, 0)]]
            for s, resident in zip(course["seconds"], course["resident_bytes"])]


def memory_faults(shown: dict, data: dict) -> list[str]:
    """What was in memory at the peak: the rows add up to it, and each is on the page."""
    memory = data["memory"]
    rows = shown.get("What was in memory at the peak", [])
    names = [[row["name"]] + [part["name"] for part in row["parts"]] for row in memory["rows"]]
    if sum(row["bytes"] for row in memory["rows"]) != memory["peak_bytes"]:
        return [f"memory: the rows do not add up to {memory['peak_bytes']}"]
    if len(names) < 4 or len(rows) != len(names) or not all(
            part in cells[0] for cells, parts in zip(rows, names) for part in parts):
        return [f"memory: {rows}, not {memory['rows']}"]
    return []


def spreads(item: dict) -> list:
    return [float(item[key][which]) if key in item else "–"
            for key in ("wall_seconds", "cpu_seconds", "peak_rss_bytes") for which in ("median", "min", "max")]


def expected_tables(data: dict) -> dict[str, list[list]]:
    t, sizes, life = data["timeline"], data["sizes"], data["lifetimes"]
    tables = {
        "Live bytes, blocks and the bytes of each class":
            list(zip(map(float, t["seconds"]), t["live_bytes"], t["live_blocks"],
                     *(layer["bytes"] for layer in t["layers"]))),
        "Sizes that were asked for":
            list(zip(*(sizes[k] for k in ("first", "last", "births", "blocks_at_peak", "bytes_at_peak")))),
        "Lifetimes of blocks that died":
            list(zip(map(float, life["from_seconds"]), map(float, life["below_seconds"]),
                     life["blocks"], life["bytes"])),
        "Slack over time": list(zip(map(float, t["seconds"]), *t["slack_bytes"])),
        "What was in memory over time": memory_course(data),
    }
    for s in data["class_sets"]:
        bounded = any("capacity" in c for c in s["classes"])
        tables[f"Blocks by class: {s['name']}"] = [
            [f"{c['block_size']:,} B" if "block_size" in c else c["name"], c["births"], c["peak_blocks"]]
            + ([c.get("capacity", "–")] if bounded else [])
            + [c["blocks_at_peak"], c["bytes_at_peak"], c["slack_at_peak"]]
            for c in s["classes"]]

    tables["The trace's replays on each allocator"] = [
        [o["name"], o["runs"], *spreads(o), o["failed_requests"]] for o in data["replay"]["outcomes"]]
    keys = ("calls", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "longest_ns")
    tables["Latencies, in nanoseconds"] = [
        [call, o["name"], *(o["latencies"][call][k] for k in keys)]
        for call in ("malloc", "free") for o in data["replay"]["outcomes"]]
    return tables


def finding_faults(shown: list, data: dict) -> list[str]:
    def place(call: dict) -> str:
        return call["name"] + (" at " + call["source"] if call["source"] else "")
    expected = [[f["title"], f"saves up to {f['savings']}", place(f["site"])] for f in data["findings"]["findings"]]
    return [] if expected and shown == expected else [f"findings: {shown}, not {expected}"]


SITES = """({
  head: [...document.querySelectorAll('.sites th')].map(th => [th.textContent, th.ariaSort]),
  rows: [...document.querySelector('.sites').tBodies[0].rows].map(row =>
    [row.cells[0].title, ...[...row.cells].slice(1).map(cell => Number(cell.title.replaceAll(',', '')))]),
  told: document.querySelector('#sites output').textContent})"""
SITE_COUNTS = ("bytes_at_peak", "bytes_at_end", "bytes", "births", "temporaries")


def expected_sites(data: dict, by: str, words: str = "", column: int = 0, rising: bool = False) -> list[list]:
    """The sums of each group, the largest of a column first."""
    groups: dict[str, list] = {}
    for row in data["sites"]["rows"]:
        site = data["sites"]["sites"][row["site"]]
        text = f"{site['name']} {site['source']} {site['module']} thread {row['thread']}"
        if not all(word in text for word in words.split()):
            continue
        name = {"site": site["name"], "module": site["module"] or "no file", "thread": f"thread {row['thread']}"}[by]
        sums = groups.setdefault(name, [0] * len(SITE_COUNTS))
        for i, key in enumerate(SITE_COUNTS):
            sums[i] += row[key]
    return sorted(([name, *sums] for name, sums in groups.items()), key=lambda row: row[1 + column], reverse=not rising)


def site_faults(b: browser.Browser, data: dict) -> list[str]:
    """The table of call sites: grouped, searched, and sorted by keyboard. Its rows add up to the program."""
    faults = []
    totals = [sum(row[key] for row in data["sites"]["rows"]) for key in SITE_COUNTS]
    trace = data["trace"]
    if totals[:4] != [data["peak"]["live_bytes"], trace["live_bytes_at_end"], trace["birth_bytes"], trace["births"]]:
        faults.append(f"call sites: the rows add up to {totals}, not to the program's figures")

    def search(words: str) -> None:
        b.evaluate(f"(box => {{ box.value = '{words}'; box.dispatchEvent(new Event('input')); }})"
                   "(document.querySelector('#sites input[type=search]'))")

    def compare(what: str, expected: list) -> dict:
        shown = b.evaluate(SITES)
        if not expected or sorted(shown["rows"]) != sorted(expected):
            faults.append(f"call sites {what}: {shown['rows']}, not {expected}")
        return shown
    for by in ("module", "thread", "site"):
        b.evaluate(f"document.querySelector('input[name=sites-by][value={by}]').click()")
        compare(f"by {by}", expected_sites(data, by))
        search("parser thread 2")
        compare(f"by {by}, searched", expected_sites(data, by, "parser thread 2"))
        search("")
    for column in range(len(SITE_COUNTS)):
        b.evaluate(f"document.querySelectorAll('.sites th button')[{column + 1}].focus()")
        for rising in (True, False) if column == 0 else (False, True):  # it is sorted by the first
            b.press("Enter")
            shown = b.evaluate(SITES)
            values = [row[1 + column] for row in shown["rows"]]
            sort = shown["head"][column + 1][1]
            if values != sorted(values, reverse=not rising) or sort != ("ascending" if rising else "descending"):
                faults.append(f"call sites by column {column}: {sort}, {values}")
    search("nothing has this name")
    if b.evaluate(SITES)["rows"] or "0 call sites" not in b.evaluate(SITES)["told"]:
        faults.append("call sites: a search for nothing finds something")
    search("")
    return faults


def table_faults(shown: dict, data: dict) -> list[str]:
    faults = []
    for caption, rows in expected_tables(data).items():
        have = shown.get(caption)
        if have is None or len(have) != len(rows):
            faults.append(f"table '{caption}': {'missing' if have is None else f'{len(have)} rows, not {len(rows)}'}")
            continue
        for row, cells in zip(rows, have):
            if len(row) != len(cells) or not all(same(cell, value) for cell, value in zip(cells, row)):
                faults.append(f"table '{caption}': {cells} should be {list(row)}")
                break
    calls = [[re.sub("^(· )*", "", row[0])] + row[1:] for row in shown.get("Call sites, callers first", [])]
    counts = ("bytes_at_peak", "blocks_at_peak", "births", "bytes", "bytes_at_end", "blocks_at_end")
    nodes = [[n["name"] + (" at " + n["source"] if n["source"] else "")] + [whole(n[k]) for k in counts] for n in data["call_sites"]]
    if calls != nodes:
        faults.append("table of call sites: not the data's")
    return faults


def tile_faults(shown: dict, data: dict) -> list[str]:
    """The counts among the figures above all sections, in words that need no knowledge of allocators."""
    trace, peak = data["trace"], data["peak"]
    expected = {
        "Peak RSS": ["MiB", "of it malloc's"],
        "Peak": [f"{whole(peak['live_bytes'])} bytes in {whole(peak['live_blocks'])} blocks"],
        "Run time": [f"{trace['threads']} threads"],
        "Allocations": [whole(trace["births"]), f"{whole(trace['refused_requests'])} more that pools refused"],
        "Frees": [whole(trace["deaths"]), f"{whole(trace['deaths_in_another_thread'])} by another thread"],
        "Left at the end": [f"{whole(trace['live_blocks_at_end'])} blocks"],
    }
    others = [f"figure '{name}': not for each reader" for name in shown if name not in expected]
    return others + [f"figure '{name}': '{shown.get(name)}' has not '{part}'"
                     for name, parts in expected.items() for part in parts if part not in shown.get(name, "")]


def open_tuning(b: browser.Browser) -> None:
    b.evaluate("document.getElementById('tuning').open = true")
    b.settle()


HELD = """({
  head: [...document.querySelectorAll('#held th')].map(th => th.textContent),
  rows: [...document.querySelector('#held table').tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))})"""


def held_faults(b: browser.Browser, data: dict) -> list[str]:
    """Who held memory: at the peak first; at the moment that Enter chooses; and who grew in the span that is in sight."""
    faults, t = [], data["timeline"]
    held = t["held"]
    for p, live in enumerate(t["live_bytes"]):
        told = sum(site["bytes"][p] for site in held["sites"]) + held["others"][p]
        if told != live:
            return [f"held: point {p} has {told} bytes by site, and {live} live"]

    def expect(what: str, at: int, first: int, last: int) -> None:
        rows = b.evaluate(HELD)["rows"]
        lived = [(s["bytes"][at], s["bytes"][last] - s["bytes"][first]) for s in held["sites"]]
        lived += [(held["others"][at], held["others"][last] - held["others"][first])]
        wanted = sorted((size(now), ("−" if change < 0 else "+") + size(abs(change))) for now, change in lived if now or change)
        if sorted((row[1], row[3]) for row in rows[:-1]) != wanted or rows[-1][1] != size(t["live_bytes"][at]):
            faults.append(f"held, {what}: {rows}, not {wanted}")
    last = len(t["seconds"]) - 1
    peak = t["live_bytes"].index(data["peak"]["live_bytes"])
    expect("at first", peak, 0, last)
    b.evaluate("document.querySelector('#held .chart').focus()")
    b.press("Home")
    expect("before Enter", peak, 0, last)
    for _ in range(3):
        b.press("PageUp")
    b.press("Enter")
    at = int(b.evaluate("document.querySelector('#held .chart').getAttribute('aria-valuenow')"))
    expect("after Enter", at, 0, last)
    b.press("+")
    b.settle()
    quarter = (last + 1) / 4  # half of all points are in sight, around the moment
    first, to = int(at - quarter + 0.5), int(at + quarter + 0.5)
    if not 0 < first < at < to < last:
        faults.append(f"held: of {last} points, {first} to {to} are in sight around {at}")
    expect("in a span", at, first, to)
    b.press("0")
    b.settle()
    expect("of all again", at, 0, last)
    return faults


def keyboard_faults(b: browser.Browser) -> list[str]:
    """From the top: the skip link, the theme, the contents, the first chart and its figures, the findings' code, the search
    and the headings of the call sites, then each other chart and its figures;
    arrow keys move a chart's readout."""
    faults = []
    b.evaluate("scrollTo(0, 0), document.activeElement.blur()")
    stops = []
    for _ in range(60):
        b.press("Tab")
        stops.append(b.evaluate("(e => e.className || e.name || (e.type === 'search' ? e.type : e.tagName))(document.activeElement)"))
    wanted = ("skip", "theme", "A", "chart", "SUMMARY", "search", "sites-by", "BUTTON")
    order = [stops.index(s) for s in wanted if s in stops]
    if order != sorted(order) or len(order) != len(wanted) or "SUMMARY" not in stops[stops.index("chart"):]:
        faults.append(f"keyboard: the order of focus is {stops}")
    for i in range(b.evaluate("document.querySelectorAll('.chart').length")):
        chart = f"document.querySelectorAll('.chart')[{i}]"
        b.evaluate(f"{chart}.focus()")
        told = []
        for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
            b.press(key)
            told.append(b.evaluate(f"[{chart}.getAttribute('aria-valuenow'), {chart}.nextSibling.textContent]"))
        last = int(b.evaluate(f"{chart}.getAttribute('aria-valuemax')"))
        if [int(n) for n, _ in told] != [0, 1, last, last - 1] or told[0][1] == told[2][1]:
            faults.append(f"keyboard: the readout of chart {i} goes {told}")
    strange = b.evaluate("""(() => {
      const nodes = JSON.parse(document.getElementById("data").textContent).call_sites;
      const labels = new Set(nodes.map((n) => (n.source ? `${n.brief} ${n.source.split("/").pop()}` : n.brief)));
      return [...document.querySelectorAll(".flame button")].map((e) => e.textContent).filter((t) => !labels.has(t));
    })()""")
    if strange:
        faults.append(f"flame graph: boxes are called {strange}")
    b.evaluate("document.querySelector('.flame button[tabindex=\"0\"]').focus()")
    at = []
    for key in ("ArrowDown", "Enter", "Escape", "ArrowUp"):
        b.press(key)
        at.append(b.evaluate("document.activeElement.textContent"))
    if len(set(at[:2])) != 1 or at[0] == "program" or at[-1] != "program":
        faults.append(f"keyboard: in the flame graph, arrow keys and Enter lead to {at}")
    return faults


def print_faults(b: browser.Browser, folder: Path) -> list[str]:
    """On paper: light whatever the screen is, and no table of a thousand rows."""
    faults = browser.paper_faults(b, folder, 2, 12)
    if b.evaluate("[...document.querySelectorAll('main details')].some(d => !d.open)"):
        faults.append("print: a short table is closed")
    b.evaluate("dispatchEvent(new Event('afterprint'))")
    return faults


def bad_input_faults(command: browser.Command) -> list[str]:
    """Whatever cannot be read: status 2, a message that names it, and the page that was there stays, even
    with --force."""
    folder = command.folder
    whole_trace = (folder / "run.atrace").read_bytes()
    (folder / "damaged.atrace").write_bytes(whole_trace[:200] + b"damage" + whole_trace[206:])
    (folder / "foreign.atrace").write_text("no trace at all")
    (folder / "empty").write_bytes(b"")
    (folder / "old.html").write_text("the page of yesterday")
    (folder / "nobody.json").write_text(json.dumps(replay() | {"outcomes": []}))
    old = ("old.html", "--force")
    cases = [(*old, "damaged.atrace"), (*old, "foreign.atrace"), (*old, "empty"), (*old, "nonesuch.atrace"),
             (*old, "run.atrace", "--pools", "replay.json"), (*old, "run.atrace", "--replay", "empty"),
             (*old, "run.atrace", "--replay", "nobody.json"), (*old, "run.atrace", "--replay", "nonesuch.json"),
             ("run.atrace", "-o", "nonesuch/a.html")]
    said = [command("report", "-o" if words[0] == "old.html" else "--force", *words, status=2) for words in cases]
    faults = [f"bad input {words}: {text!r}" for words, text in zip(cases, said) if words[-1] not in text]
    if (folder / "old.html").read_text() != "the page of yesterday" or list(folder.glob("old.html.*")):
        faults.append("bad input: the page that was there did not stay")
    return faults


def bare_page_faults(b: browser.Browser, command: browser.Command) -> list[str]:
    """Without other files, of a trace without stacks, or without an event and begun at a time that no calendar has, or with
    its end cut off: what there is."""
    plain = [line.split(" stack=")[0] for line in trace_lines() if not line.startswith("stack ")]
    cut = (command.folder / "run.atrace").read_bytes()
    (command.folder / "cut.atrace").write_bytes(cut[:len(cut) - 40])
    command.record("plain", plain)
    command.record("none", plain[:1] + [f"header started {2**64 - 1}"])
    faults = []
    for name, charts in (("plain", 5), ("none", 0), ("cut", 2)):
        command("report", f"{name}.atrace", "-o", f"{name}.html")
        b.open(command.folder / f"{name}.html", 1280)
        have = b.evaluate("document.querySelectorAll('.chart').length")
        if have != charts:
            faults.append(f"trace '{name}': {have} charts, not {charts}")
        if (name == "cut") == b.evaluate("document.getElementById('warning').hidden"):
            faults.append(f"trace '{name}': the warning is {'missing' if name == 'cut' else 'there'}")
    return faults


def comparison_page_faults(b: browser.Browser, command: browser.Command) -> list[str]:
    """What ashlar compare has measured, on the same page: three charts and a table, and nothing of a trace."""
    printed = command("compare", "-n", "2", "--only", "system", "--json", "-o", "compared.html", "--label", "</script>", "--", "true")
    b.open(command.folder / "compared.html", 1280)
    shown = [b.evaluate(what) for what in ("document.title", "document.querySelectorAll('.chart').length",
                                           "document.querySelectorAll('main section').length")]
    (cells,) = b.evaluate(TABLES)["The program's runs on each allocator"]
    (system,) = json.loads(printed)["allocators"]
    wanted = [system["name"], system["runs"], *spreads(system), "–"]
    is_right = len(cells) == len(wanted) and all(map(same, cells, wanted))
    return [] if is_right and shown == ["ashlar compare: </script>", 3, 1] else [f"compared: {shown}, {cells}, not {wanted}"]


def faults_of(b: browser.Browser, page: Path, data: dict, folder: Path, widths: list[int]) -> list[str]:
    faults = []
    b.problems.clear()
    for width in widths:
        for theme in ("light", "dark"):
            where = f"{width} px, {theme}"
            b.prefer(theme)
            b.open(page, width)
            if b.evaluate("document.querySelectorAll('#tuning .chart').length") != 0:
                faults.append(f"{where}: what is for those who tune is drawn before it is asked for")
            open_tuning(b)
            faults += browser.chart_faults(b, where, 10)
            if b.evaluate("document.documentElement.dataset.theme") != theme:
                faults.append(f"{where}: the page does not follow the system's colours")
            for part in (width, *(w for w in TURNS if w < width)):
                b.resize(part, 900)
                b.settle()
                wide = b.evaluate("document.documentElement.scrollWidth")
                if wide > part:
                    faults.append(f"{part} px, {theme}: the page is {wide} px wide")
    b.evaluate("document.querySelector('input[name=theme][value=light]').click()")
    b.settle()
    if b.evaluate("document.documentElement.dataset.theme") != "light":
        faults.append("the switch does not make it light")
    faults += browser.chart_faults(b, "switched to light", 10)
    b.evaluate("document.querySelector('input[name=theme][value=system]').click()")
    tables = b.evaluate(TABLES)
    faults += table_faults(tables, data) + memory_faults(tables, data) + tile_faults(b.evaluate(TILES), data)
    faults += finding_faults(b.evaluate(FINDINGS), data)
    faults += keyboard_faults(b)
    faults += site_faults(b, data)
    faults += held_faults(b, data)
    b.evaluate("document.getElementById('tuning').open = false")
    b.evaluate("document.querySelector('#contents a[href=\"#tuning\"]').click()")
    if not b.evaluate("document.getElementById('tuning').open"):
        faults.append("the link to what is for those who tune does not open it")
    faults += print_faults(b, folder)
    return faults + b.problems


# Batches of faults that do not hide each other. Of each: what is replaced, by what, a word of what must be told.
PLANTS = [{
    "an error on the console": ("startPrinting(drawLater);\n", "console.error('planted'); startPrinting(drawLater);\n", "console.error"),
    "a finding without what it saves": ("`saves up to ${finding.savings}`", "``", "findings: "),
    "a file from the network": ("startPrinting(drawLater);\n",
        "new Image().src = 'http://127.0.0.1:9/x.png'; startPrinting(drawLater);\n", "http://127.0.0.1:9"),
    "a chart without colour": ('fill: () => colour("bar"), paths', 'fill: "transparent", paths', "is blank"),
    "a search that is not heard": ('search.addEventListener("input"', 'search.addEventListener("planted"', "searched"),
    "a count that is one off": ("const count = (n) => n.toLocale",
        "const count = (n) => (n === 10000 ? n + 1 : n).toLocale", "Latencies"),
    "arrow keys that are not heard": ('frame.addEventListener("keydown"',
        'frame.addEventListener("keyup-planted"', "keyboard: the readout"),
    "a span that is not heard": ("span(first, data[0]", "((a, b) => {})(first, data[0]", "held, in a span"),
    "colours that stay": ('darkSystem.matches ? "dark" : "light"', '"light"', "follow the system"),
}, {
    "a table without its last row": ("for (const row of rows) body",
        "for (const row of rows.slice(0, -1)) body", "rows, not"),
    "charts that keep their width": ("onPaper : Math.max(frame.clientWidth, 200)", "onPaper : 1200", "px wide"),
    "a column that sorts by another": ("columns[sorted].weight(a) - columns[sorted].weight(b)",
        "columns[0].weight(a) - columns[0].weight(b)", "call sites by column"),
    "a figure that is left out": ("trace.refused_requests > 0", "false", "more that pools refused"),
    "a moment that Enter does not choose": ("keys.Enter = () => chosen(at)", "keys.Enter = () => {}", "held, after Enter"),
    "dark paper": ('printing ? "light" : ', "", "print: not light"),
    "a script that throws": ("startPrinting(drawLater);\n", "startPrinting(drawLater); null.planted;\n", "script:"),
}]


def look(b: browser.Browser, command: browser.Command, made: tuple[Path, dict], planted: bool) -> list[str]:
    page, data = made
    if planted:
        return browser.missed_plants(b, page, PLANTS, lambda page: faults_of(b, page, data, command.folder, [400]))
    faults = bad_input_faults(command) + faults_of(b, page, data, command.folder, WIDTHS)
    b.problems.clear()
    return faults + bare_page_faults(b, command) + comparison_page_faults(b, command) + b.problems


if __name__ == "__main__":
    browser.test_pages(make, look)
