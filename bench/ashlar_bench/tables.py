"""The rows as Markdown."""

import math
import statistics

from . import comparison, overview
from .allocators import BASE, OURS
from .results import COUNTED, FAILURE


def show(value):
    if value >= 1000:
        return f"{value:,.0f}"
    if value <= 0.01:
        return f"{value:.3f}".rstrip("0").rstrip(".") or "0"
    return f"{value:.{max(0, 2 - int(math.floor(math.log10(value))))}f}"


def scale(row):
    """(divisor, unit) in which the row's least value is easy to read."""
    smallest = min(row.median(name) for name in row.values)
    if row.unit.startswith("ns"):
        for step, unit in ((1e6, "ms"), (1e3, "µs")):
            if smallest >= 10 * step:
                return step, unit + row.unit[2:]
    if row.unit == "KiB" and smallest >= 10 * 1024:
        return 1024, "MiB"
    if row.unit == "instructions" and smallest >= 1e5:
        return 1e6, "million"
    return 1, row.unit


def ratio_text(ratio):
    if ratio is None:
        return ""
    interval = f" ({ratio.interval[0]:.2f}–{ratio.interval[1]:.2f})" if ratio.interval else ""
    return f"{ratio.median:.2f}{interval}" + ("?" if ratio.verdict == "undecided" else "")


def header(columns, left=2):
    return ["| " + " | ".join(columns) + " |", "|" + "---|" * left + "---:|" * (len(columns) - left)]


def mean_line(rows, names, compared):
    """Over the cases that all allocators have. A case's times count once, however many rows it has."""
    times = all(row.kind == "time" for row in rows)
    counted = comparison.by_case(rows) if times else rows
    mean = comparison.means(counted, names)
    if len(counted) < 2 or not mean:
        return []
    base = comparison.base_of(list(mean))
    cells = [f"{mean[name]:.2f}" if name in mean else "-" for name in names]
    if compared:
        ratios = sorted((ratio.median, row.label) for row in counted if OURS in row.values
                        for ratio in [row.ratio_to_best()] if ratio)
        cell = f"{comparison.geometric_mean([ratio for ratio, _ in ratios]):.2f}" if ratios else ""
        if times and len(ratios) > 1:
            rest = comparison.geometric_mean([ratio for ratio, _ in ratios[1:]])
            cell += f"; without its best row ({ratios[0][1]}): {rest:.2f}"
        cells.append(cell)
    what = f"{len(comparison.common(counted, names))} {'cases' if times else 'rows'}"
    return ["| " + " | ".join([f"*geometric mean of {what}, {base} = 1*", "ratio", *cells]) + " |"]


def table(rows, names):
    """One line a row; the last is the geometric means."""
    if not rows:
        return ""
    compared = OURS in names and len(names) > 1
    lines = header(["", "unit", *names] + ([f"{OURS} / best peer"] if compared else []))
    for row in rows:
        step, unit = scale(row)
        best = row.best_peer(names)
        cells = []
        for name in names:
            if not row.values.get(name):
                cells.append("-")
                continue
            text = show(row.median(name) / step) + ("~" if row.noisy(name) else "")
            cells.append(f"**{text}**" if name == best else text)
        if compared:
            cells.append(ratio_text(row.ratio_to_best()) if OURS in row.values else "")
        lines.append("| " + " | ".join([row.label, unit, *cells]) + " |")
    return "\n".join(lines + mean_line(rows, names, compared)) + "\n"


def spread(row, name):
    """The distance of the rounds' quartiles over their median; None of a single round."""
    if len(row.all(name)) < 2:
        return None
    low, _, high = statistics.quantiles(row.all(name), n=4, method="inclusive")
    return (high - low) / row.median(name) if row.median(name) else 0.0


def without_its_best_row(shared, name, names):
    """The mean again without the row that favours this allocator most, which is named: what one row carries."""
    present = comparison.taking_part(shared, names)
    base = comparison.base_of(present) if present else None
    if len(shared) < 2 or name not in present or name == base:
        return "-"
    rest, most = comparison.without_most_favourable(shared, name, base)
    return f"{comparison.means(rest, [base, name])[name]:.2f} ({most.label})"


def summary(rows, names):
    """Geometric means per allocator: time, peak RSS, and how steady the rounds were."""
    times, memory = comparison.by_case(comparison.timed(rows)), comparison.peaks(rows)
    columns = [("time", times), ("time, programs", [r for r in times if r.source == "program"]),
               ("peak RSS", memory), ("peak RSS, programs", [r for r in memory if r.source == "program"])]
    columns = [(title, comparison.means(chosen, names), len(comparison.common(chosen, names)))
               for title, chosen in columns if comparison.means(chosen, names)]
    if not columns:
        return ""
    shared = comparison.common(times, names)
    lines = header(["allocator", *(f"{title} ({count})" for title, _, count in columns),
                    "time without its best row", "time: quartiles apart"], left=1)
    for name in names:
        spreads = [each for row in times if row.values.get(name) for each in [spread(row, name)] if each is not None]
        cells = [f"{mean[name]:.2f}" if name in mean else "-" for _, mean, _ in columns]
        cells.append(without_its_best_row(shared, name, names))
        cells.append(f"{statistics.median(spreads):.1%}" if spreads else "-")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


VERDICTS = ("ahead", "level", "undecided", "behind")


UNNAMED = ("rss-final", "faults", "faults-programs", "calls")  # their losses are only counted in a summary


NAMED_FROM = {"time": 1.15, "latency": 1.2, "ratio": 1.2, "rss": 1.35}  # smaller losses of these are only counted there


def losses(titled, counted_only=(), named_from=None):
    """How often ashlar wins and loses in each table of [(title, rows)]; then losses by name, the worst first, but for those
    of the tables that are only counted, and those below a table's ratio in `named_from`."""
    counts, named = [], []
    for title, rows in titled:
        ratios = [(ratio, row) for row in rows if OURS in row.values for ratio in [row.ratio_to_best()] if ratio]
        if not ratios:
            continue
        count = [sum(ratio.verdict == word for ratio, _ in ratios) for word in VERDICTS]
        counts.append(f"| {title} | " + " | ".join(str(n) for n in (*count, len(ratios))) + " |")
        least = (named_from or {}).get(title, 0)
        behind = [f"{row.label} {ratio.median:.2f} {row.best_peer()}" for ratio, row in
                  sorted(ratios, key=lambda each: -each[0].median) if ratio.verdict == "behind" and ratio.median >= least]
        if title in counted_only:
            continue
        if small := count[-1] - len(behind):
            behind.append(f"{small} below {least:.2f}")
        named += [f"| {title} | {', '.join(behind)} |"] if behind else []
    if not counts:
        return ""
    lines = [*header(["rows of", *VERDICTS, "all"], left=1), *counts]
    if named:
        lines += ["", *header(["behind in", "row, cost over the best peer's, best peer"], left=2), *named]
    return "\n".join(lines) + "\n"


def failures(rows):
    """A failed cell is no number; each is named."""
    return [f"- {row['allocator']}, {row['case']}: {row['fact']}" for row in rows if row["kind"] == FAILURE]


def sections(rows):
    """(name of the part, title, rows), in the order of the report."""
    everything = comparison.build(rows)

    def of(kind, source=None):
        return [row for row in everything if row.kind == kind and (source is None or row.source == source)]

    def process(column, unit, source, minus=None):
        return [row for row in comparison.per_process(rows, column, unit, minus) if row.source == source]

    def cpu(source):
        added = [{**row, "cpu_s": row["user_s"] + row["system_s"]} for row in rows
                 if row["user_s"] is not None and row["system_s"] is not None]
        return [row for row in comparison.per_process(added, "cpu_s", "s") if row.source == source]

    return [
        ("time", "Time: workloads", of("time", "workload")),
        ("programs", "Time: real programs (wall)", of("time", "program")),
        ("programs-cpu", "CPU time: real programs", cpu("program")),
        ("rate", "Requests per second", of("rate")),
        ("latency", "Latency of single calls", of("latency")),
        ("ratio", "Fragmentation and idleness: bytes held over bytes live", of("ratio")),
        ("scaling", "Scaling", comparison.scaling_rows(everything)),
        ("rss", "Peak RSS: workloads, less the harness's arrays",
         process("peak_rss_kib", "KiB", "workload", "harness_kib")),
        ("rss-programs", "Peak RSS: real programs", process("peak_rss_kib", "KiB", "program")),
        ("rss-final", "RSS once all is freed, less the harness's arrays",
         process("final_rss_kib", "KiB", "workload", "harness_kib")),
        ("rss-servers", "RSS of servers after their load", process("final_rss_kib", "KiB", "program")),
        ("start", "Memory of a process that does next to nothing", of("memory")),
        ("faults", "Page faults: workloads", process("minor_faults", "faults", "workload")),
        ("faults-programs", "Page faults: real programs", process("minor_faults", "faults", "program")),
        ("instructions", "Instructions of one body, by callgrind", of("instructions")),
        ("hit-path", "Instructions of one hit of each function, by callgrind", of("hit_path")),
        ("calls", "System calls of a whole process", of("system_calls")),
    ]


def machine_text(facts, names):
    versions = [f"{name} {facts.get('version ' + name, '')}".strip() for name in names if name != OURS]
    end = "".join(f" {name[0].upper()}{name[1:]}: {facts[name]}." for name in
                  ("load average", "the machine", "left out for lack of time", "interrupted")
                  if name in facts)
    return (f"Machine: {facts.get('machine', 'not told')}. Peers: {', '.join(versions) or 'none'}. "
            f"{facts.get('method', '')}{end}")


def facts_text(facts, names):
    return (f"{machine_text(facts, names)}\n\n"
            "Bold: the best peer. `~`: the rounds differ by more than "
            f"{comparison.NOISY:.0%} of the median. Ratios are of cost: below 1 is faster or smaller, also where the "
            "unit is operations per second; in brackets the 95 % interval over the rounds; `?`: it holds 1, so "
            f"the rounds do not decide. Without brackets there were fewer than {comparison.FEWEST_ROUNDS} rounds, and "
            "nothing tells a small difference from noise.\n")


def timed_alone(rows):
    """Without what was counted by runs of their own, in rows of the timed cases' names."""
    return [row for row in rows if row["kind"] not in COUNTED]


def overview_of(rows, names):
    return overview.table(timed_alone(rows), names) if OURS in names else ""


def parts(facts, rows, names):
    """{name of a part: its Markdown}. Every name is there even when the rows have nothing for it."""
    made = {"machine": facts_text(facts, names), "summary": summary(rows, names),
            "overview": overview_of(rows, names)}
    chosen = sections(rows)
    made.update((name, table(of_name, names)) for name, _, of_name in chosen)
    titled = [(title, of_name) for _, title, of_name in chosen] if OURS in names else []
    made["losses"] = losses(titled)
    made["losses-named"] = losses(titled, [title for name, title, _ in chosen if name in UNNAMED],
                                  {title: NAMED_FROM[name] for name, title, _ in chosen if name in NAMED_FROM})
    broken = failures(rows)
    made["failures"] = "\n".join(broken) + "\n" if broken else "No run failed.\n" if rows else ""
    return {name: text or "Not in this run.\n" for name, text in made.items()}


def report(facts, rows, names):
    """The whole as one document."""
    made = parts(facts, rows, names)
    titles = [("machine", ""), ("overview", f"Overview ({BASE} = 1 where it took part)"),
              ("summary", f"Geometric means of cost ({BASE} = 1 where it took part; in brackets: rows)"),
              ("losses", f"{OURS} against the best peer of each row")]
    titles += [(name, title) for name, title, _ in sections(rows)]
    text = []
    for name, title in titles:
        if made[name].startswith("Not in this run"):
            continue
        text.append((f"## {title}\n" if title else "") + made[name])
    if failures(rows):
        text.append("Failed:\n" + made["failures"])
    return "\n".join(text)
