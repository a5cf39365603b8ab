"""The page build/results/misuse-components.md, and the parts of a page that are renewed in place."""
from __future__ import annotations

import collections
import pathlib
import subprocess
import sys

from cells import OUTCOMES, Cell, Results
from columns import HERE


WORDS = {"damage": "**damage**", "reported late": "*late*", "n/a": "–", "died": "**died**", "hung": "**hung**"}


def table_of(header: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(r) + " |" for r in rows)]


def shown(faults: list[dict]) -> list[dict]:
    return [f for f in faults if f["name"] != "none"]


def words_table(_matrix: dict, _results: Results) -> list[str]:
    return table_of(["word", "meaning"],
                    [[WORDS.get(o, o), meaning] for o, meaning in OUTCOMES.items() if o != "broken"])


def not_caught(matrix: dict, results: Results) -> list[str]:
    """For each level what is not reported before it does harm; the worst first."""
    lines = []
    for table in matrix["tables"]:
        for level in table["levels"]:
            lines += [f"**{table['title']}, {level['name']}**", ""]
            for outcome in ("hung", "damage", "died", "reported late", "silent"):
                texts = []
                for fault in shown(matrix["faults"]):
                    cells = {c["title"]: results[key] for c in table["components"]
                             if (key := (c["name"], level["name"], fault["name"])) in results}
                    cells = {title: cell for title, cell in cells.items() if cell.outcome != "n/a"}
                    which = [title for title, cell in cells.items() if cell.outcome == outcome]
                    if which:
                        texts.append(fault["title"] + ("" if len(which) == len(cells) else f" ({', '.join(which)})"))
                if texts:
                    lines += [f"- {WORDS.get(outcome, outcome)}: " + "; ".join(texts)]
            lines += [""]
    return lines[:-1]


def cell_word(cell: Cell) -> str:
    return WORDS.get(cell.outcome, cell.outcome) + (" ¹" if cell.lacks else "")


def our_tables(matrix: dict, results: Results) -> list[str]:
    lines = []
    for table in matrix["tables"]:
        for level in table["levels"]:
            used = [c for c in table["components"] if level["name"] in c.get("levels", [level["name"]])]
            rows = [[f["title"], *(cell_word(results[c["name"], level["name"], f["name"]]) for c in used)]
                    for f in shown(matrix["faults"])]
            lines += [f"### {table['title']}: {level['name']}", "", *table_of(["fault", *(f"`{c['title']}`"
                                                                               for c in used)], rows), ""]
    lacking: dict[tuple[str, str, str], list[str]] = {}
    titles = {f["name"]: f["title"] for f in matrix["faults"]}
    components = {c["name"]: c["title"] for table in matrix["tables"] for c in table["components"]}
    for (component, level, fault), cell in results.items():
        if cell.lacks:
            lacking.setdefault((titles[fault], level, cell.lacks), []).append(components[component])
    lines += ["### ¹ Messages that say less than fault, address, pool and block size", "",
              *table_of(["fault", "level", "does not say", "of"],
                        [[fault, level, lacks.replace("+", ", "), ", ".join(f"`{c}`" for c in which)]
                         for (fault, level, lacks), which in lacking.items()])]
    return lines


def seen_table(matrix: dict, results: Results) -> list[str]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for table in matrix["tables"]:
        for level in table["levels"]:
            for c in table["components"]:
                reads = [results.get((c["name"], level["name"], f)) for f in ("use_after_free_read",
                                                                              "uninitialised_read")]
                if all(reads):
                    seen = (table["title"] + ": " + level["name"], *(r.seen or "–" for r in reads))
                    groups.setdefault(seen, []).append(f"`{c['title']}`")
    return table_of(["level", "a freed block", "a fresh block", "of"],
                    [[*seen, ", ".join(which)] for seen, which in groups.items()])


def shares(outcomes: collections.Counter[str]) -> str:
    """The worst first; each with its share, where the rounds were not of one mind."""
    order = [o for o in OUTCOMES if outcomes[o]]
    if len(order) == 1:
        return WORDS.get(order[0], order[0])
    return ", ".join(f"{WORDS.get(o, o)} {100 * outcomes[o] / outcomes.total():.0f} %" for o in order)


def version_of(package: str) -> str:
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else "(version unknown)"


def peers_table(matrix: dict, rounds: list[Results]) -> list[str]:
    """Several rounds: what some peers do depends on where the system puts memory, or on dice of their own."""
    titles = [p["title"] for p in matrix["peers"]]
    rows = []
    for fault in shown(matrix["faults"]):
        cells = [collections.Counter(r[t, "", fault["name"]].outcome for r in rounds) for t in titles]
        if any(set(c) != {"n/a"} for c in cells):
            rows.append([fault["title"], *map(shares, cells)])
    about = [[p["title"], f"`{p['package']}` {version_of(p['package'])}"] for p in matrix["peers"]]
    return [*table_of(["fault", *titles], rows), "", f"{len(rounds)} runs of each cell.", "",
            *table_of(["peer", "Debian package"], about)]


def part(page: str, name: str) -> list[str]:
    """The lines between `<!-- matrix: name -->` and `<!-- end -->`."""
    begin, end = f"<!-- matrix: {name} -->\n", "<!-- end -->"
    _, mark, rest = page.partition(begin)
    if not mark or end not in rest:
        sys.exit(f"matrix: the page has no part '{begin.strip()}' ... '{end}'")
    return rest.partition(end)[0].splitlines()


def replace_part(page: str, name: str, lines: list[str]) -> str:
    """The page with other lines there."""
    begin = f"<!-- matrix: {name} -->\n"
    old = "".join(line + "\n" for line in part(page, name))
    return page.replace(begin + old, begin + "\n".join(lines) + "\n", 1)


PAGE = HERE.parent.parent / "build/results/misuse-components.md"
HEAD = """# Misuse of each component: all cells

Each cell is a program: a fault of `tests/misuse/corpus/faults.cpp` on one component, with one level of checks. It
allocates 16 blocks before the fault. After it, it allocates 64 more, writes them, gives all back, and ends. Every live
block has a pattern of its owner, so the program sees when bytes of another owner change. A block has no slack here."""


def whole(matrix: dict, results: Results, rounds: list[Results]) -> str:
    """`rounds`: what the peers did; none where they were not run."""
    parts = [("", words_table(matrix, results)),
             ("## What is not reported before it does harm", not_caught(matrix, results)),
             ("## All cells", our_tables(matrix, results)), ("## What a read sees", seen_table(matrix, results)),
             *([("## Other pools, as packaged", peers_table(matrix, rounds))] if rounds else [])]
    return HEAD + "".join(f"\n\n{title}\n\n".replace("\n\n\n", "\n") + "\n".join(lines) for title, lines in parts) + "\n"
