"""The figures that the project set itself, each computed from the rows and numbered as in results/bench.md.

A figure whose cases are not in the rows is absent, not met. One is met, or not, when all of the range in which the
rounds leave it lies on one side of its limit; else it is undecided.
"""

import re
import statistics
from dataclasses import dataclass

import hit_path

from . import comparison
from .allocators import BASE, OURS, ROOT

TIME_MEAN, TIME_OF_A_ROW = 0.90, 1.10  # of the best peer's
MEMORY_MEAN, MEMORY_OF_A_ROW = 0.95, 1.15
IDLE_SECONDS, IDLE_OVER_LIVE = 10, 1.2
HIT_INSTRUCTIONS = {"malloc": 16, "free": 14}
RATE_OF_TWO_OVER_ONE, RATE_OF_64_OVER_TWO = 1.9, 0.8
START_MS, START_MIB = 1.0, 1.0  # over the C library's own
LEVEL_WITH_THE_BEST = 1.0
FIGURES = range(1, 9)
ADVERSARIES = ("checkerboard", "sawtooth", "robson")
GOLDEN_HIT_PATH = ROOT / "tests/golden/hit_path.txt"


@dataclass(frozen=True)
class NotMet:
    """A row that is above a target's limit, or (`above` is false) of which the rounds cannot tell."""
    label: str
    ratio: float  # of cost, to the best peer
    best_peer: str
    above: bool


@dataclass(frozen=True)
class Outcome:
    number: int
    figure: str
    target: str
    measured: str
    best_peer: str
    met: bool | None  # None: the rounds cannot tell
    not_met: tuple[NotMet, ...] = ()  # of a target for each row: those above, then the undecided, the worst first


# ---- what the rounds can tell ----

NOISE_OF_TIME, NOISE_OF_MEMORY = comparison.NOISY, comparison.LEVEL


def believed(values, noise):
    """(least, greatest) that the figure may be. Rounds too few for an interval tell differences beyond the noise."""
    return comparison.bootstrap_interval(values) or (min(v - noise * abs(v) for v in values),
                                                     max(v + noise * abs(v) for v in values))


def below(limit, interval):
    least, greatest = interval
    return True if greatest <= limit else False if least > limit else None


def at_most(limit, values, noise=NOISE_OF_TIME):
    return below(limit, believed(values, noise))


def at_least(limit, values, noise=NOISE_OF_TIME):
    return at_most(-limit, [-value for value in values], noise)


def all_met(each):
    return False if False in each else None if None in each else True


def show(values, unit="", signed=False):
    """Their median, and the interval where there are rounds enough for one."""
    sign = "+" if signed else ""
    interval = comparison.bootstrap_interval(values)
    text = f"{number_text(statistics.median(values), sign)}{unit and ' ' + unit}"
    return text + (f" ({number_text(interval[0], sign)} to {number_text(interval[1], sign)})" if interval else "")


def ratio_text(ratio, interval):
    """With a third decimal: what is judged may be a hair's breadth from its limit."""
    return f"ratio {ratio:.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")


def number_text(value, sign=""):
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.2f}"


def beside(row, name, unit=""):
    return f"{name} {show(row.all(name), unit)}" if name else "-"


# ---- the rows that figures are made of ----

def timed(rows):
    """Times and rates of the work itself; latencies and ratios have figures of their own."""
    return [row for row in comparison.build(rows) if row.kind == "time"]


def peaks(rows):
    return comparison.per_process(rows, "peak_rss_kib", "KiB", minus="harness_kib")


def with_ours(rows):
    """Those in which we and at least one peer have a result."""
    return [row for row in rows if OURS in row.values and row.best_peer()]


def best_by_mean(rows, names, among=None):
    """The single peer of least geometric mean, or None."""
    mean = comparison.means(rows, names)
    peers = [(mean[name], name) for name in names if name != OURS and name in mean
             and (among is None or name in among)]
    return min(peers)[1] if peers else None


def derived(label, unit, names, value_of, like):
    """A row computed of others: value_of(name, round) is None where a part is missing."""
    line = comparison.Row(label, unit, "derived", like.source, like.case)
    for name in names:
        for round_name in like.values.get(name, {}):
            value = value_of(name, round_name)
            if value is not None:
                line.add(name, round_name, value)
    return line


def quotient(above, below):
    """A function of (name, round): the one row's value over the other's."""
    def value_of(name, round_name):
        over, under = above.values.get(name, {}).get(round_name), below.values.get(name, {}).get(round_name)
        return over / under if over and under else None
    return value_of


def scaling_rows(rows):
    """Rate with 2 threads over that with 1, and with 64 over that with 2, as rows of their own."""
    # System calls are counted in rows of the same name.
    rates = {row.label: row for row in rows if row.label.startswith("scaling ") and row.kind == "time"}
    ratios = []
    for many, few in ((2, 1), (64, 2)):
        above, below = rates.get(f"scaling {many}"), rates.get(f"scaling {few}")
        if above and below:
            ratios.append(derived(f"rate of {many} threads over that of {few}", "times/s", above.values,
                                  quotient(above, below), above))
    return ratios


def growth_rows(rows):
    """{build or churn: {live blocks: (time per operation, time of the same without calls)}}."""
    parts = {}
    for row in comparison.build(rows):
        found = re.fullmatch(r"growth (\d+)/(\w+)", row.label)
        if found:
            without = comparison.Row(f"{row.label}, no calls", row.unit, "derived", row.source, row.case)
            parts.setdefault(found.group(2), {})[int(found.group(1))] = row, without
    for each in rows:
        found = re.fullmatch(r"growth (\d+)/(\w+)", each["row"])
        no_calls = re.search(r"\bno_calls=([\d.e+-]+)", each.get("fact") or "")
        if found and no_calls and each["value"] is not None:
            _, without = parts[found.group(2)][int(found.group(1))]
            without.add(each["allocator"], each["round"], float(no_calls.group(1)))
    return parts


# ---- the figures ----

def level_with_best(number, figure, row, noise):
    """No more than the row's best peer in the same rounds."""
    best = row.best_peer()
    each = row.ratios(OURS, best)
    ratio = ratio_text(statistics.median(each), comparison.bootstrap_interval(each))
    unit = "" if row.unit == "ratio" else row.unit
    return Outcome(number, figure, "no more than the best peer",
                   f"{number_text(row.median(OURS))}{unit and ' ' + unit}, {ratio}", beside(row, best, unit),
                   at_most(LEVEL_WITH_THE_BEST, each, noise))


def mean_against_best(number, what, rows, names, limit, noise, among=None, without_best=False):
    best = best_by_mean(rows, names, among)
    ours_too = OURS in comparison.taking_part(rows, names)
    each = comparison.mean_ratios(rows, OURS, best, names) if best and ours_too else []
    if not each:
        return []
    shared = comparison.common(rows, names)
    measured = show(each)
    if without_best and len(shared) > 1:
        rest, left_out = comparison.without_most_favourable(shared, OURS, best)
        measured += f"; without its best row ({left_out.label}): " \
                    f"{statistics.median(comparison.mean_ratios(rest, OURS, best, names)):.2f}"
    return [Outcome(number, f"{what}, geometric mean of {len(shared)} cases", f"at most {limit:.2f} of the best peer's",
                    measured, best, at_most(limit, each, noise))]


def none_above(number, what, rows, limit, noise, among=None):
    """That no row is above the limit times its own best peer; names those that are and those that may be."""
    met, not_met = [], []
    for row in with_ours(rows):
        best = row.best_peer(among)
        each = row.ratios(OURS, best) if best else []
        if not each:
            continue
        met.append(at_most(limit, each, noise))
        if met[-1] is not True:
            not_met.append(NotMet(row.label, statistics.median(each), best, met[-1] is False))
    if not met:
        return []
    measured = f"{met.count(False)} of {len(met)} above"
    measured += f", {met.count(None)} undecided" if None in met else ""
    return [Outcome(number, what, f"at most {limit:.2f} of its own best peer", measured, "each row's own",
                    all_met(met), tuple(sorted(not_met, key=lambda each: (not each.above, -each.ratio))))]


def idleness(rows):
    """Of the points at which idle_after_peak looked, the last within the limit. Quick mode ends before it."""
    found = []
    for variant in ("quiet", "ticking", "light"):
        prefix = f"idle_after_peak {variant}/"
        points = {float(row.label[len(prefix):].rstrip("s")): row for row in rows if row.label.startswith(prefix)}
        seconds = max((each for each in points if each <= IDLE_SECONDS), default=None)
        if seconds is None or OURS not in points[seconds].values:
            continue
        row = points[seconds]
        met = at_most(IDLE_OVER_LIVE, row.all(OURS), NOISE_OF_MEMORY)
        found.append(Outcome(2, f"resident over live bytes, idle for {seconds:g} s after a peak, {variant}",
                             f"at most {IDLE_OVER_LIVE} within {IDLE_SECONDS} s", show(row.all(OURS)),
                             beside(row, row.best_peer()), None if met is False and seconds < IDLE_SECONDS else met))
    return found


def fragmentation(rows):
    return [level_with_best(3, f"peak committed over peak live bytes: {row.label}", row, NOISE_OF_MEMORY)
            for row in with_ours(rows) if row.kind == "ratio" and row.label.startswith(ADVERSARIES)]


def hit_counts(rows, function):
    """{allocator: instructions of a hit at each size}, of rows that callgrind counted."""
    counts = {}
    for row in rows:
        if row.kind == "hit_path" and row.label.startswith(f"hit_path {function}/"):
            for name in row.values:
                counts.setdefault(name, []).append(row.median(name))
    return counts


def range_text(counts):
    least, most = min(counts), max(counts)
    return f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"


def hit_instructions(rows, names, golden):
    """As callgrind counted them in this run, else as the tests' golden file holds them: more would fail its test.
    Judged by the size that takes most; a peer's range is shown, for its fast path may end at a smaller size."""
    if OURS not in names:
        return []
    found = []
    for function, limit in HIT_INSTRUCTIONS.items():
        counts, source = hit_counts(rows, function), "callgrind, this run"
        if OURS not in counts and golden.is_file():
            counts[OURS] = [each[function] for each in hit_path.read_golden(golden).values()]
            source = f"{golden.parent.parent.name}/{golden.parent.name}/{golden.name}: gcc, x86-64"
        if OURS not in counts:
            continue
        best = min((name for name in counts if name != OURS), key=lambda name: min(counts[name]), default=None)
        found.append(Outcome(4, f"instructions of a {function} that hits", f"at most {limit}",
                             f"{range_text(counts[OURS])} ({source})",
                             f"{best} {range_text(counts[best])}" if best else "-",
                             max(counts[OURS]) <= limit + hit_path.TOLERANCE))
    return found


def latencies(rows):
    """Compared are the medians over the rounds: a maximum is one sample, and has no partner in its round."""
    by_label = {row.label: row for row in with_ours(rows)}
    found = []
    for function in ("malloc", "free"):
        for point, key in (("p99.99", "p99.99"), ("maximum, median of the rounds' longest calls", "max")):
            row = by_label.get(f"latency {function}/{key}")
            if not row:
                continue
            best = row.best_peer()
            ratio, interval = row.ratio_of_medians(OURS, best)
            met = below(LEVEL_WITH_THE_BEST, interval or believed([ratio], NOISE_OF_TIME))
            found.append(Outcome(5, f"{function}: {point}", "no more than the best peer",
                                 f"{number_text(row.median(OURS))} {row.unit}, {ratio_text(ratio, interval)}",
                                 beside(row, best, row.unit), met))
    return found


def scaling(rows):
    limits = (RATE_OF_TWO_OVER_ONE, RATE_OF_64_OVER_TWO)
    by_label = {row.label: row for row in scaling_rows(rows)}
    found = []
    for (many, few), limit in zip(((2, 1), (64, 2)), limits):
        row = by_label.get(f"rate of {many} threads over that of {few}")
        if row and OURS in row.values:
            found.append(Outcome(6, row.label, f"at least {limit}", show(row.all(OURS)), beside(row, row.best_peer()),
                                 at_least(limit, row.all(OURS))))
    return found


def start(rows):
    """What a process that ends at once takes beyond what it takes on the C library's own malloc."""
    found = []
    for figure, label, per_unit, unit, limit, noise in (
            ("time of a process that ends at once", "startup process", 1e6, "ms", START_MS, NOISE_OF_TIME),
            ("its resident memory", "startup rss", 1024, "MiB", START_MIB, NOISE_OF_MEMORY)):
        row = next((each for each in rows if each.label == label), None)
        if not row or BASE not in row.values or OURS not in row.values:
            continue
        base = row.values[BASE]
        beyond = derived(label, unit, [name for name in row.values if name != BASE],
                         lambda name, r: (row.values[name][r] - base[r]) / per_unit if r in base else None, row)
        if OURS not in beyond.values:
            continue
        peers = [(beyond.median(name), name) for name in beyond.values if name != OURS]
        best = f"{min(peers)[1]} {show(beyond.all(min(peers)[1]), unit, signed=True)}" if peers else "-"
        found.append(Outcome(7, figure, f"at most {limit:g} {unit} over {BASE}",
                             show(beyond.all(OURS), unit, signed=True), best, at_most(limit, beyond.all(OURS), noise)))
    return found


def growth(rows):
    """At the most live blocks against the best peer; and how much dearer an operation became since the fewest, over
    how much dearer the same visits became without calls: those miss the caches more often too."""
    found = []
    for part, counts in growth_rows(rows).items():
        fewest, most = min(counts), max(counts)
        row, most_without = counts[most]
        if with_ours([row]):
            found.append(level_with_best(8, f"growth, {part}: time per operation at {most:,} live blocks", row,
                                         NOISE_OF_TIME))
        if fewest == most:
            continue
        dearer, dearer_without = quotient(row, counts[fewest][0]), quotient(most_without, counts[fewest][1])

        def relative(name, round_name):
            over, under = dearer(name, round_name), dearer_without(name, round_name)
            return over / under if over and under else None
        line = derived(f"growth, {part}: dearer from {fewest:,} to {most:,} live blocks, over the same without calls",
                       "ratio", row.values, relative, row)
        if OURS in line.values:
            found.append(Outcome(8, line.label, f"at most {LEVEL_WITH_THE_BEST:.2f}", show(line.all(OURS)),
                                 beside(line, line.best_peer()), at_most(LEVEL_WITH_THE_BEST, line.all(OURS))))
    return found


def outcomes(rows, names, memory_peers, golden=GOLDEN_HIT_PATH):
    everything, memory = comparison.build(rows), peaks(rows)
    found = mean_against_best(1, "time against the best single peer", comparison.by_case(timed(rows)), names, TIME_MEAN,
                              NOISE_OF_TIME, without_best=True)
    found += none_above(1, "time of each row", timed(rows), TIME_OF_A_ROW, NOISE_OF_TIME)
    if memory_peers:
        found += mean_against_best(2, f"peak RSS against the best of {', '.join(memory_peers)}", memory, names,
                                   MEMORY_MEAN, NOISE_OF_MEMORY, memory_peers)
        found += none_above(2, "peak RSS of each row", memory, MEMORY_OF_A_ROW, NOISE_OF_MEMORY, memory_peers)
    return [*found, *idleness(everything), *fragmentation(everything), *hit_instructions(everything, names, golden),
            *latencies(everything), *scaling(everything), *start(everything), *growth(rows)]
