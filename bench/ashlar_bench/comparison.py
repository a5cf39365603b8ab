"""Statistics over the rows: medians, spreads, ratios to the best peer with an interval, geometric means.

Every ratio is one of cost: below 1 is faster or smaller, also where the unit is operations per second.
"""

import random
import statistics
from dataclasses import dataclass, field

from .allocators import BASE, OURS
from .results import COUNTED, FAILURE

NOISY = 0.2  # a cell whose rounds differ by more than this share of the median is marked
LEVEL = 0.03  # a difference below this is called none, however surely it is measured
RESAMPLES = 2000
FEWEST_ROUNDS = 5  # with fewer, an interval would be one of chance


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else None


def higher_is_better(unit):
    return unit.endswith("/s")


def bootstrap_interval(values, share=0.95, seed=1):
    """Of the median, by resampling the rounds; None when they are too few."""
    if len(values) < FEWEST_ROUNDS:
        return None
    source = random.Random(seed)
    drawn = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(RESAMPLES))
    outside = int(RESAMPLES * (1 - share) / 2)
    return drawn[outside], drawn[-1 - outside]


@dataclass(frozen=True)
class Ratio:
    median: float
    interval: tuple | None  # None: too few rounds to tell

    @property
    def verdict(self):
        """ahead, level, behind; or undecided where the interval holds 1 though the median is further off."""
        if abs(self.median - 1) <= LEVEL:
            return "level"
        if self.interval and self.interval[0] <= 1 <= self.interval[1]:
            return "undecided"
        return "ahead" if self.median < 1 else "behind"


@dataclass
class Row:
    """One line of a table: the values of each allocator by round."""
    label: str
    unit: str
    kind: str
    source: str
    case: str
    values: dict = field(default_factory=dict)  # allocator -> {round: value}
    facts: dict = field(default_factory=dict)  # allocator -> the text that the workload added

    def add(self, name, round_name, value):
        self.values.setdefault(name, {})[round_name] = value

    def all(self, name):
        return list(self.values.get(name, {}).values())

    def median(self, name):
        return statistics.median(self.all(name)) if self.values.get(name) else None

    def cost(self, name):
        return self.as_cost(self.median(name))

    def as_cost(self, value):
        """Lower is better; None where there is nothing to divide by."""
        if value is None or value <= 0:
            return None
        return 1 / value if higher_is_better(self.unit) else value

    def noisy(self, name):
        values = self.all(name)
        return max(values) - min(values) > NOISY * statistics.median(values)

    def best_peer(self, among=None):
        """The peer of least median cost. Chosen once, not anew in each round: the luckiest of ten would win that."""
        peers = [(self.cost(n), n) for n in (among or self.values) if n != OURS and self.cost(n) is not None]
        return min(peers)[1] if peers else None

    def pairs(self, name, other):
        """[(cost, other's cost)] of the rounds in which both have one."""
        mine, theirs = self.values.get(name, {}), self.values.get(other, {})
        pairs = [(self.as_cost(mine[r]), self.as_cost(theirs[r])) for r in mine if r in theirs]
        return [pair for pair in pairs if None not in pair]

    def ratios(self, name, other):
        """One a round, in which both ran under the same conditions."""
        return [mine / theirs for mine, theirs in self.pairs(name, other)]

    def ratio(self, name, other):
        each = self.ratios(name, other)
        return Ratio(statistics.median(each), bootstrap_interval(each)) if each else None

    def ratio_to_best(self):
        best = self.best_peer()
        return self.ratio(OURS, best) if best else None


def build(rows):
    """The table rows of results, in order of first appearance."""
    table = {}
    for row in rows:
        if row["kind"] == FAILURE or row["value"] is None:
            continue
        key = (row["source"], row["case"], row["row"], row["kind"], row["unit"])
        line = table.setdefault(key, Row(row["row"], row["unit"], row["kind"], row["source"], row["case"]))
        line.add(row["allocator"], row["round"], row["value"])
        line.facts[row["allocator"]] = row.get("fact") or ""
    return list(table.values())


def per_process(rows, column, unit, minus=None):
    """The same of something that each process has once, such as its peak RSS."""
    table = {}
    for row in rows:
        if row["kind"] in (FAILURE, *COUNTED) or row.get(column) is None:
            continue
        key = (row["source"], row["case"])
        line = table.setdefault(key, Row(row["case"], unit, "process", row["source"], row["case"]))
        line.add(row["allocator"], row["round"], row[column] - (row.get(minus) or 0 if minus else 0))
    return list(table.values())


def by_case(rows):
    """One row a case: the geometric mean of its rows' costs, so that a case of many rows weighs no more than one."""
    cases = {}
    for row in rows:
        cases.setdefault((row.source, row.case), []).append(row)
    merged = []
    for (source, case), group in cases.items():
        line = Row(case, "cost", "merged", source, case)
        names = set.intersection(*(set(row.values) for row in group))
        for name in sorted(names):
            for round_name in set.intersection(*(set(row.values[name]) for row in group)):
                costs = [row.as_cost(row.values[name][round_name]) for row in group]
                if None not in costs:
                    line.add(name, round_name, geometric_mean(costs))
        if line.values:
            merged.append(line)
    return merged


def taking_part(rows, names):
    """Those with a result in any of the rows; one measured elsewhere only (instructions, say) has none to share."""
    return [name for name in names if any(row.cost(name) is not None for row in rows)]


def common(rows, names):
    """The rows in which everyone who takes part has a result: only over these are means comparable."""
    present = taking_part(rows, names)
    return [row for row in rows if present and all(row.cost(name) is not None for name in present)]


def base_of(names):
    return BASE if BASE in names else names[0]


def means(rows, names):
    """{name: geometric mean of cost relative to the base} of those who take part, over the common rows."""
    shared, present = common(rows, names), taking_part(rows, names)
    if not shared:
        return {}
    base = base_of(present)
    return {name: geometric_mean([row.cost(name) / row.cost(base) for row in shared]) for name in present}


def mean_ratios(rows, name, other, names):
    """Ratio of geometric means over the common rows, one a round in which both have all of them."""
    shared = common(rows, names)
    rounds = {}
    for row in shared:
        for round_name, value in row.values[name].items():
            if round_name in row.values[other]:
                mine, theirs = row.as_cost(value), row.as_cost(row.values[other][round_name])
                if mine is not None and theirs is not None:
                    rounds.setdefault(round_name, []).append(mine / theirs)
    return [geometric_mean(each) for each in rounds.values() if len(each) == len(shared)]


def without_most_favourable(rows, name, other):
    """(the others, the row in which `name` is furthest ahead of `other`): a mean that one row carries is told so."""
    most = min(rows, key=lambda row: row.cost(name) / row.cost(other))
    return [row for row in rows if row is not most], most


def timed(rows):
    """Times and rates of the work itself; latencies and ratios are tables of their own."""
    return [row for row in build(rows) if row.kind == "time"]


def peaks(rows):
    return per_process(rows, "peak_rss_kib", "KiB", minus="harness_kib")


def best_by_mean(rows, names):
    """The single peer of least geometric mean, or None."""
    mean = means(rows, names)
    return min(((mean[name], name) for name in names if name != OURS and name in mean), default=(0, None))[1]


def scaling_rows(rows):
    """Rate with 2 threads over that with 1, and with 64 over that with 2, as rows of their own."""
    # System calls are counted in rows of the same name.
    rates = {row.label: row for row in rows if row.label.startswith("scaling ") and row.kind == "time"}
    ratios = []
    for many, few in ((2, 1), (64, 2)):
        above, below = rates.get(f"scaling {many}"), rates.get(f"scaling {few}")
        if not above or not below:
            continue
        line = Row(f"rate of {many} threads over that of {few}", "times/s", "derived", above.source, above.case)
        for name, of_rounds in above.values.items():
            for round_name, rate in of_rounds.items():
                if under := below.values.get(name, {}).get(round_name):
                    line.add(name, round_name, rate / under)
        ratios.append(line)
    return ratios
