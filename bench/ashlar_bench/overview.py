"""The run in twelve lines: groups of cases, ashlar beside the best peer, losses marked.

Each line is a geometric mean of cost, with the C library's malloc as 1. Its best peer is one allocator for the whole
line. `ratio` is ashlar's cost over that peer's, and `worst row` the single row in which ashlar is furthest behind that row's own best peer.
"""

import statistics
from dataclasses import dataclass

from . import comparison
from .allocators import OURS

TIME, MEMORY, LATENCY = "time", "memory", "latency"
# By the first word of a case.
SMALL = {"pair", "lifo", "fifo", "random", "random_1m", "churn", "bulk", "bignum", "pareto", "growth", "first_fill"}
LARGE = {"medium", "large", "huge", "calloc_large", "realloc_growth", "growing_buffers"}
HOLES = {"checkerboard", "sawtooth", "robson", "drift", "survivors", "pinned"}
CONTAINERS = {"containers", "strings"}
THREADS = {"producer_consumer", "larson", "batches_2t", "random_sizes", "threads_short", "server", "asymmetric",
           "phases", "false_sharing", "scaling"}


@dataclass(frozen=True)
class Line:
    label: str
    measure: str
    rows: list  # one a case


@dataclass(frozen=True)
class Judged:
    """A line's figures: means by allocator, the best peer, ours over it, the row that is furthest behind."""
    line: Line
    means: dict
    best_peer: str
    ratio: comparison.Ratio
    worst: comparison.Row
    worst_ratio: comparison.Ratio


def first_word(row):
    return row.case.split()[0]


def lines(rows):
    """All lines that the rows have something for."""
    everything = comparison.build(rows)
    times = comparison.by_case(comparison.timed(rows))
    peaks = comparison.peaks(rows)

    def timed(words):
        return [row for row in times if row.source == "workload" and first_word(row) in words]

    def labelled(label):
        return [row for row in everything if row.label == label]

    made = [
        Line("all cases", TIME, times if len(times) > 1 else []),
        Line("small blocks, one thread", TIME, timed(SMALL)),
        Line("large blocks and realloc", TIME, timed(LARGE)),
        Line("patterns that leave holes", TIME, timed(HOLES)),
        Line("containers and strings", TIME, timed(CONTAINERS)),
        Line("two threads and more", TIME, timed(THREADS)),
        Line("real programs", TIME, [row for row in times if row.source == "program"]),
        Line("workloads, peak RSS", MEMORY, [row for row in peaks if row.source == "workload"]),
        Line("real programs, peak RSS", MEMORY, [row for row in peaks if row.source == "program"]),
        Line("held over live, after holes", MEMORY, [row for row in everything if row.kind == "ratio"
                                                     and first_word(row) in HOLES and row.label.endswith("/held")]),
        Line("malloc, p99.99", LATENCY, labelled("latency malloc/p99.99")),
        Line("free, p99.99", LATENCY, labelled("latency free/p99.99")),
    ]
    return [line for line in made if line.rows]


def worst_row(rows):
    """(row, its ratio to its own best peer) of the greatest ratio; None where no row has a peer."""
    found = [(ratio, row) for row in rows if OURS in row.values for ratio in [row.ratio_to_best()] if ratio]
    if not found:
        return None
    ratio, row = max(found, key=lambda each: each[0].median)
    return row, ratio


def judge(line, names):
    """None where ashlar or its peers have no common row."""
    means = comparison.means(line.rows, names)
    best = comparison.best_by_mean(line.rows, names)
    worst = worst_row(line.rows)
    each = comparison.mean_ratios(line.rows, OURS, best, names) if OURS in means and best else []
    if not each or not worst:
        return None
    return Judged(line, means, best, comparison.Ratio(statistics.median(each), comparison.bootstrap_interval(each)),
                  *worst)


def judged(rows, names):
    return [each for line in lines(rows) for each in [judge(line, names)] if each]


HEADER = ("", "cases", "ashlar", "best peer", "ratio", "", "worst row, its ratio and best peer")
LEFT = (0, 3, 5, 6)  # columns of words


def verdict_text(ratio):
    return "**behind**" if ratio.verdict == "behind" else ratio.verdict


def cells(each):
    interval = each.ratio.interval
    worst = f"{each.worst.label}, {each.worst_ratio.median:.2f}, {each.worst.best_peer()}"
    return (f"{each.line.measure}: {each.line.label}", str(len(each.line.rows)), f"{each.means[OURS]:.2f}",
            f"{each.means[each.best_peer]:.2f} {each.best_peer}",
            f"{each.ratio.median:.2f}" + (f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else ""),
            verdict_text(each.ratio), worst if len(each.line.rows) > 1 else "")


def table(rows, names):
    """Markdown, with its columns aligned for a terminal."""
    body = [cells(each) for each in judged(rows, names)]
    if not body:
        return ""
    wide = [max(map(len, column)) for column in zip(HEADER, *body)]

    def text(line):
        padded = [cell.ljust(width) if column in LEFT else cell.rjust(width)
                  for column, (cell, width) in enumerate(zip(line, wide))]
        return "| " + " | ".join(padded).rstrip() + " |"

    rule = "|" + "|".join("-" * (width + 2) if column in LEFT else "-" * (width + 1) + ":"
                          for column, width in enumerate(wide)) + "|"
    return "\n".join([text(HEADER), rule, *map(text, body)]) + "\n"
