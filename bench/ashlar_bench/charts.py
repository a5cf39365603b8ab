"""The rows as SVG charts, by matplotlib.

The background is transparent and all lines and letters are of a middle grey or of colours that show on white and on
black alike, so one file serves light and dark pages.
"""

from . import comparison, targets
from .allocators import OURS

INK = "#808891"
COLOURS = {"ashlar": "#e0457b", "glibc": "#8a8f98", "jemalloc": "#c98500", "tcmalloc": "#2f9e6e",
           "mimalloc2": "#4a90d9", "mimalloc3": "#7a6ff0", "snmalloc": "#14a5b8", "rpmalloc": "#b06a3b",
           "tbbmalloc": "#7f9a2f", "scudo": "#b45fc4"}
MARKERS = "osD^vP>X<p"
LONGEST_BAR = 4  # times faster or slower
PERCENTILES = (("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9), ("p99.99", 99.99), ("p99.999", 99.999))


def pyplot():
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "ashlar", "svg.fonttype": "none", "font.size": 10, "text.color": INK, "axes.labelcolor": INK,
        "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none", "grid.color": INK, "grid.alpha": 0.25, "legend.frameon": False,
        "figure.constrained_layout.use": True})
    from matplotlib import pyplot as plot
    return plot


def style(name, names):
    """Ours stands out by width; every allocator has a colour and a marker of its own."""
    place = names.index(name)
    return {"color": COLOURS.get(name, f"C{place}"), "marker": MARKERS[place % len(MARKERS)],
            "linewidth": 2.6 if name == OURS else 1.2, "markersize": 6 if name == OURS else 4,
            "zorder": 3 if name == OURS else 2}


def spread_labels(axes, points):
    """Names beside their dots, each at the first of some places that no earlier name or dot takes."""
    figure = axes.figure
    figure.canvas.draw()
    dots = [axes.transData.transform((x, y)) for x, y, _, _ in points]
    taken = []
    for (x, y, name, colour), own in zip(points, dots):
        for dx, dy, across, up in ((8, 0, "left", "center"), (-8, 0, "right", "center"), (0, 9, "center", "bottom"),
                                   (0, -9, "center", "top"), (8, 12, "left", "bottom"), (-8, 12, "right", "bottom"),
                                   (8, -12, "left", "top"), (-8, -12, "right", "top"), (0, 24, "center", "bottom")):
            text = axes.annotate(name, (x, y), (dx, dy), textcoords="offset points", ha=across, va=up, color=colour,
                                 fontweight="bold" if name == OURS else "normal")
            box = text.get_window_extent()
            inside = axes.get_window_extent()
            free = (not any(box.overlaps(other) for other in taken)
                    and not any(box.contains(*dot) for dot in dots if dot is not own)
                    and inside.x0 <= box.x0 and box.x1 <= inside.x1 + 40
                    and inside.y0 <= box.y0 and box.y1 <= inside.y1)
            if free:
                break
            text.remove()
        else:
            text = axes.annotate(name, (x, y), (8, 0), textcoords="offset points", va="center", color=colour)
            box = text.get_window_extent()
        taken.append(box)


def plain_ticks(axis):
    from matplotlib import ticker
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def ratio_ticks(axis):
    """Few and even on a logarithmic axis: those of these that are in view."""
    from matplotlib import ticker
    axis.set_major_locator(ticker.FixedLocator((0.125, 0.25, 0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 8, 12, 16)))
    axis.set_minor_locator(ticker.NullLocator())
    plain_ticks(axis)


def time_and_memory(plot, rows, names):
    times, memory = comparison.by_case(targets.timed(rows)), targets.peaks(rows)
    time, space = comparison.means(times, names), comparison.means(memory, names)
    placed = [name for name in names if name in time and name in space]
    if len(placed) < 2:
        return None
    figure, axes = plot.subplots(figsize=(7, 5))
    axes.set_xscale("log")
    axes.set_yscale("log")
    best = targets.best_by_mean(times, names)
    base = time[best] if best else 1.0
    lean = targets.best_by_mean(memory, names)
    floor = space[lean] if lean else 1.0
    points = []
    for name in placed:
        look = style(name, names)
        x, y = time[name] / base, space[name] / floor
        axes.plot(x, y, color=look["color"], marker=look["marker"], markersize=10 if name == OURS else 7, linestyle="")
        points.append((x, y, name, look["color"]))
    axes.margins(0.2)
    ratio_ticks(axes.xaxis)
    ratio_ticks(axes.yaxis)
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    axes.grid(True)
    axes.set_xlabel(f"time, geometric mean ({best} = 1; left is faster)")
    axes.set_ylabel(f"peak RSS, geometric mean ({lean} = 1; down is smaller)")
    spread_labels(axes, points)
    return figure


def within_bars(ratio):
    """One extreme row must not flatten all others; its label tells its value."""
    return min(max(ratio, 1 / LONGEST_BAR), LONGEST_BAR)


def ratio_bars(plot, rows, names):
    """Ours against the best peer of each case."""
    if OURS not in names:
        return None
    found = [(row.ratio_to_best(), row) for row in comparison.by_case(targets.timed(rows)) if OURS in row.values]
    found = sorted(((ratio, row) for ratio, row in found if ratio), key=lambda each: each[0].median)
    if not found:
        return None
    figure, axes = plot.subplots(figsize=(8, 0.8 + 0.2 * len(found)))
    colours = {"ahead": "#2f9e6e", "level": INK, "undecided": INK, "behind": "#d9534f"}
    axes.set_xscale("log")
    for place, (ratio, row) in enumerate(found):
        shown = within_bars(ratio.median)
        axes.barh(place, shown - 1, left=1, color=colours[ratio.verdict], height=0.7)
        interval = tuple(map(within_bars, ratio.interval or ()))
        if interval:
            axes.plot(interval, (place, place), color=INK, linewidth=1.4)
        left = ratio.median < 1
        ends = (shown, *interval)
        edge = min(ends) if left else max(ends)
        axes.annotate(f"{ratio.median:.2f} {row.best_peer()}", (edge, place), (-4 if left else 4, 0),
                      textcoords="offset points", va="center", ha="right" if left else "left", fontsize=7)
    axes.set_yticks(range(len(found)), [row.label for _, row in found], fontsize=8)
    axes.set_ylim(-0.8, len(found) - 0.2)
    low, high = within_bars(found[0][0].median), within_bars(found[-1][0].median)
    axes.set_xlim(min(low, 0.8) / 1.8, max(high, 1.25) * 1.8)
    axes.axvline(1, color=INK, linewidth=0.8)
    ratio_ticks(axes.xaxis)
    axes.set_xlabel(f"time of {OURS} over that of the best peer, named; below 1: faster; bars end at {LONGEST_BAR}",
                    x=0.35)
    return figure


def latency(plot, rows, names):
    lines = {row.label: row for row in comparison.build(rows) if row.kind == "latency"}
    if "latency malloc/p50" not in lines:
        return None
    figure, both = plot.subplots(1, 2, figsize=(10, 4.4), sharey=True)
    for axes, call in zip(both, ("malloc", "free")):
        for name in names:
            points = [(1 / (1 - p / 100), lines[f"latency {call}/{key}"].median(name)) for key, p in PERCENTILES
                      if f"latency {call}/{key}" in lines and lines[f"latency {call}/{key}"].values.get(name)]
            if points:
                axes.plot(*zip(*points), label=name, **style(name, names))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([1 / (1 - p / 100) for _, p in PERCENTILES], [f"{p:g}" for _, p in PERCENTILES])
        axes.minorticks_off()
        axes.set_xlabel(f"{call}: percentile of calls")
        axes.grid(True)
    both[0].set_ylabel("ns, the clock's reading included")
    both[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def after_peak(plot, rows, names):
    lines = [row for row in comparison.build(rows) if row.label.startswith("idle_after_peak ")]
    variants = sorted({row.label.split()[1].partition("/")[0] for row in lines})
    if not variants:
        return None
    figure, all_axes = plot.subplots(1, len(variants), figsize=(1.5 + 4.2 * len(variants), 4), sharey=True,
                                     squeeze=False)
    for axes, variant in zip(all_axes[0], variants):
        for name in names:
            points = sorted((float(row.label.rpartition("/")[2].rstrip("s")), row.median(name)) for row in lines
                            if f" {variant}/" in row.label and row.values.get(name))
            if points:
                axes.plot(*zip(*points), label=name, **style(name, names))
        axes.set_xlabel(f"seconds after the peak ({variant})")
        axes.set_ylim(bottom=0)
        axes.grid(True)
    all_axes[0][0].set_ylabel("resident over live bytes")
    all_axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def no_calls(row, name):
    for pair in row.facts.get(name, "").split():
        key, _, value = pair.partition("=")
        if key == "no_calls":
            return float(value)
    return None


def growth(plot, rows, names):
    lines = [row for row in comparison.build(rows) if row.label.startswith("growth ")]
    kinds = sorted({row.label.rpartition("/")[2] for row in lines})
    if not kinds:
        return None
    figure, all_axes = plot.subplots(1, len(kinds), figsize=(1.5 + 4.2 * len(kinds), 4.2), sharey=True, squeeze=False)
    for axes, kind in zip(all_axes[0], kinds):
        chosen = sorted((int(row.label.split()[1].partition("/")[0]), row) for row in lines
                        if row.label.endswith(f"/{kind}"))
        for name in names:
            points = [(live, row.median(name)) for live, row in chosen if row.values.get(name)]
            if points:
                axes.plot(*zip(*points), label=name, **style(name, names))
        shown = OURS if OURS in names else names[0]
        bare = [(live, no_calls(row, shown)) for live, row in chosen if no_calls(row, shown) is not None]
        if bare:
            axes.plot(*zip(*bare), label=f"{shown}'s addresses, no calls", color=INK, linestyle="--", linewidth=1.2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(f"live blocks of 16 bytes ({kind})")
        axes.grid(True)
        plain_ticks(axes.yaxis)
    all_axes[0][0].set_ylabel("ns an operation")
    all_axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def scaling(plot, rows, names):
    lines = sorted((int(row.label.split()[1]), row) for row in comparison.build(rows)
                   if row.label.startswith("scaling "))
    if len(lines) < 2:
        return None
    figure, axes = plot.subplots(figsize=(7, 4.2))
    for name in names:
        points = [(threads, row.median(name)) for threads, row in lines if row.values.get(name)]
        if points:
            axes.plot(*zip(*points), label=name, **style(name, names))
    axes.set_xscale("log", base=2)
    axes.set_xticks([threads for threads, _ in lines])
    plain_ticks(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("threads")
    axes.set_ylabel(f"{lines[0][1].unit}, all threads together")
    axes.grid(True)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


CHARTS = {"time-memory": time_and_memory, "ratios": ratio_bars, "latency": latency, "after-peak": after_peak,
          "growth": growth, "scaling": scaling}
CAPTIONS = {"time-memory": "time and peak RSS of each allocator, geometric means",
            "ratios": "time against the best peer of each row", "latency": "latency of malloc and free by percentile",
            "after-peak": "resident memory after a peak", "growth": "time an operation by number of live blocks",
            "scaling": "rate by number of threads"}


def available():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


COUNTED = ("instructions", "system_calls", "hit_path")  # by runs of their own, in rows of the timed cases' names


def draw(rows, names, folder, prefix="bench-", suffixes=(".svg",)):
    """Writes those charts that the rows have figures for; returns {name: file name}."""
    plot, written = pyplot(), {}
    rows = [row for row in rows if row["kind"] not in COUNTED]
    for name, make in CHARTS.items():
        figure = make(plot, rows, names)
        if figure is None:
            continue
        for suffix in suffixes:
            metadata = {"Date": None} if suffix == ".svg" else None  # the same rows give the same file
            figure.savefig(folder / f"{prefix}{name}{suffix}", transparent=True, metadata=metadata, dpi=110)
        plot.close(figure)
        written[name] = f"{prefix}{name}.svg"
    return written


def as_markdown(written, path):
    """The charts as images, for a document from whose folder `path` leads to theirs."""
    links = (f"![{CAPTIONS[name]}]({path}/{file})" for name, file in written.items())
    return "\n\n".join(links) or "Not in this run.\n"
