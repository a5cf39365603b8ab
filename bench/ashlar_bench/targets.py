"""The figures that the project set itself, each computed from the rows: figure, target, measured, met.

A target is relative to the peers of the same run: no worse than the best of them. A figure whose cases are not in the
rows is absent, not met.
"""

from dataclasses import dataclass

from . import comparison
from .allocators import OURS


@dataclass(frozen=True)
class Outcome:
    figure: str
    target: str
    measured: str
    met: bool | None  # None: the rounds cannot tell


def timed(rows):
    """Times and rates of the work itself; latencies and ratios have figures of their own."""
    return [row for row in comparison.build(rows) if row.kind == "time"]


def peaks(rows):
    return comparison.per_process(rows, "peak_rss_kib", "KiB", minus="harness_kib")


def peers_of(names):
    return [name for name in names if name != OURS]


def best_by_mean(rows, names, among=None):
    """The single peer of least geometric mean, or None."""
    mean = comparison.means(rows, names)
    peers = [(mean[name], name) for name in peers_of(names) if name in mean and (among is None or name in among)]
    return min(peers)[1] if peers else None


def against(figure, ratio, peer):
    if ratio is None:
        return None
    interval = f" ({ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})" if ratio.interval else ""
    met = None if ratio.verdict == "undecided" else ratio.median <= 1
    return Outcome(figure, f"at most 1.00 of {peer}", f"{ratio.median:.2f}{interval}", met)


def geometric_mean_figure(figure, rows, names, among=None):
    best = best_by_mean(rows, names, among)
    if not best or OURS not in names:
        return None
    shared = len(comparison.common(rows, names))
    return against(f"{figure}, {shared} rows, geometric mean", comparison.mean_ratio(rows, OURS, best, names), best)


def each_workload(rows):
    ratios = [ratio for ratio in (row.ratio_to_best() for row in rows if OURS in row.values) if ratio]
    if not ratios:
        return None
    count = {word: sum(r.verdict == word for r in ratios) for word in ("ahead", "level", "undecided", "behind")}
    return Outcome("each row's time against its own best peer", "behind in none",
                   ", ".join(f"{word} {n}" for word, n in count.items() if n) + f" of {len(ratios)}",
                   False if count["behind"] else None if count["undecided"] else True)


def row_figure(figure, row):
    """A row's value of ours against the least of the peers."""
    best = row.best_peer() if OURS in row.values else None
    if not best:
        return None
    ratio = row.ratio(OURS, best)
    met = None if ratio.verdict == "undecided" else ratio.median <= 1
    return Outcome(figure, f"at most {show(row.median(best), row.unit)} ({best})", show(row.median(OURS), row.unit),
                   met)


def show(value, unit):
    number = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    return number if unit == "ratio" else f"{number} {unit}"


def latest(rows, workload, variant):
    """Of idle_after_peak's rows, that of the most seconds; quick mode has fewer."""
    prefix = f"{workload} {variant}/"
    found = [row for row in rows if row.label.startswith(prefix)]
    return max(found, key=lambda row: float(row.label[len(prefix):].rstrip("s")), default=None)


def scaling_rows(rows):
    """Rate with 2 threads over that with 1, and with 64 over that with 2, as rows of their own."""
    rates = {row.label: row for row in rows if row.label.startswith("scaling ")}
    ratios = []
    for many, few in ((2, 1), (64, 2)):
        above, below = rates.get(f"scaling {many}"), rates.get(f"scaling {few}")
        if not (above and below):
            continue
        line = comparison.Row(f"rate of {many} threads over that of {few}", "times/s", "derived", above.source,
                              above.case)
        for name in above.values:
            for round_name, value in above.values[name].items():
                if below.values.get(name, {}).get(round_name):
                    line.add(name, round_name, value / below.values[name][round_name])
        ratios.append(line)
    return ratios


def scaling_figure(row):
    best = row.best_peer() if OURS in row.values else None
    if not best:
        return None
    ratio = row.ratio(OURS, best)
    met = None if ratio.verdict == "undecided" else ratio.median <= 1
    return Outcome(row.label, f"at least {row.median(best):.2f} ({best})", f"{row.median(OURS):.2f}", met)


def outcomes(rows, names, memory_peers):
    everything = comparison.build(rows)
    times = comparison.by_case(timed(rows))
    memory = peaks(rows)
    by_label = {row.label: row for row in everything}
    found = [geometric_mean_figure("time against the best single peer", times, names),
             each_workload(times),
             geometric_mean_figure("peak RSS against the best of " + ", ".join(memory_peers), memory, names,
                                   memory_peers)
             if memory_peers else None]
    for variant in ("quiet", "ticking"):
        row = latest(everything, "idle_after_peak", variant)
        if row:
            seconds = row.label.rpartition("/")[2]
            found.append(row_figure(f"resident over live bytes, {seconds} after a peak, {variant}", row))
    found += [row_figure(f"peak committed over peak live bytes: {row.label}", row) for row in everything
              if row.kind == "ratio" and not row.label.startswith("idle_after_peak")]
    found += [row_figure(f"{call} {point}", by_label[f"latency {call}/{key}"]) for call in ("malloc", "free")
              for point, key in (("p99.99", "p99.99"), ("maximum", "max")) if f"latency {call}/{key}" in by_label]
    found += [scaling_figure(row) for row in scaling_rows(everything)]
    found += [row_figure(figure, by_label[label]) for figure, label in
              (("start and end of a process", "startup process"),
               ("memory of a process that does nothing", "startup rss"))
              if label in by_label]
    return [outcome for outcome in found if outcome]
