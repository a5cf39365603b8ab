"""The rows as SVG charts, by matplotlib.

The background is transparent and all lines and letters are of a middle grey or of colours that show on white and on
black alike, so one file serves light and dark pages.
"""

from . import comparison, overview, tables
from .allocators import OURS

INK = "#808891"
COLOURS = {"ashlar": "#e0457b", "glibc": "#8a8f98", "jemalloc": "#c98500", "tcmalloc": "#2f9e6e",
           "mimalloc2": "#4a90d9", "mimalloc3": "#7a6ff0", "snmalloc": "#14a5b8", "rpmalloc": "#b06a3b",
           "tbbmalloc": "#7f9a2f", "scudo": "#b45fc4"}
MARKERS = "osD^vP>X<p"
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


def plain_ticks(axis):
    from matplotlib import ticker
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def ratio_ticks(axis):
    """Few and even on a logarithmic x axis: those of these that are in view."""
    from matplotlib import ticker
    low, high = axis.axes.get_xlim()
    axis.set_major_locator(ticker.FixedLocator(
        (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32) if high / low > 16 else
        (0.125, 0.25, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 1.7, 2, 3, 4, 6, 8, 12, 16)))
    axis.set_minor_locator(ticker.NullLocator())
    plain_ticks(axis)


def strips(plot, judged, measure, names):
    """A line for each group of cases, with a mark for each allocator: the best peer is 1, and right of it is worse."""
    lines = [each for each in judged if each.line.measure == measure]
    if not lines:
        return None
    figure, axes = plot.subplots(figsize=(8, 1.3 + 0.42 * len(lines)))
    axes.set_xscale("log")
    for name in names:
        points = [(each.means[name] / each.means[each.best_peer], -place) for place, each in enumerate(lines)
                  if name in each.means]
        if points:
            look = {**style(name, names), "linewidth": 0, "markersize": 11 if name == OURS else 6}
            axes.plot(*zip(*points), label=name, **look)
    axes.set_yticks([-place for place in range(len(lines))], [each.line.label for each in lines])
    axes.set_ylim(-len(lines) + 0.4, 0.6)
    axes.tick_params(axis="y", length=0)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.grid(True)
    axes.margins(x=0.08)
    ratio_ticks(axes.xaxis)
    axes.set_xlabel(f"{measure}, geometric mean; best peer of each line = 1; left is better")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def time(plot, rows, names):
    return strips(plot, overview.judged(rows, names), overview.TIME, names)


def memory(plot, rows, names):
    return strips(plot, overview.judged(rows, names), overview.MEMORY, names)


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


CHARTS = {"time": time, "memory": memory, "latency": latency, "scaling": scaling}
CAPTIONS = {"time": "time of each allocator over the best peer's, by group of cases",
            "memory": "memory of each allocator over the best peer's, by group of cases",
            "latency": "latency of malloc and free by percentile", "scaling": "rate by number of threads"}


def available():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(rows, names, folder):
    """Writes those charts that the rows have figures for; returns {name: file name}."""
    plot, written = pyplot(), {}
    rows = tables.timed_alone(rows)
    for name, make in CHARTS.items():
        figure = make(plot, rows, names)
        if figure is None:
            continue
        written[name] = f"bench-{name}.svg"
        # Without a date: the same rows give the same file.
        figure.savefig(folder / written[name], transparent=True, metadata={"Date": None}, dpi=110)
        plot.close(figure)
    return written


def as_markdown(name, written, path):
    """The chart as an image, for a document from whose folder `path` leads to it."""
    return f"![{CAPTIONS[name]}]({path}/{written[name]})" if name in written else "Not in this run.\n"
