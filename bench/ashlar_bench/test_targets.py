"""Each of the project's figures on rows made by hand: met, not met, undecided, absent."""

import tempfile
import unittest
from pathlib import Path

from ashlar_bench import comparison, tables, targets

NO_FILE = Path("/nonexistent/hit_path.txt")
SPREAD = (0.5, 0.6, 1.0, 1.7, 1.9)  # times a limit: rounds that lie on both sides of it


def result(allocator, value, row, round_name="1", **more):
    return {"round": round_name, "allocator": allocator, "source": "workload", "case": row.partition("/")[0],
            "row": row, "kind": "time", "unit": "ns/op", "value": value, "fact": "", **more}


def series(row, unit="ns/op", kind="time", facts=None, **values):
    """One result a round for each allocator: a list of values, or one that holds in all five."""
    made = []
    for name, given in values.items():
        for number, value in enumerate(given if isinstance(given, (list, tuple)) else [given] * 5, 1):
            made.append(result(name, value, row, str(number), unit=unit, kind=kind, fact=(facts or {}).get(name, "")))
    return made


def memory(case, **values):
    return [{**each, "peak_rss_kib": each["value"] + 100, "harness_kib": 100.0, "value": 1.0}
            for each in series(case, **values)]


def scaled(factors, by):
    return [factor * by for factor in factors]


class Figures(unittest.TestCase):
    def outcomes(self, rows, names=("glibc", "jemalloc", "ashlar"), memory_peers=("jemalloc",), golden=NO_FILE):
        return targets.outcomes(rows, list(names), list(memory_peers), golden)

    def numbered(self, number, rows, **more):
        return [each for each in self.outcomes(rows, **more) if each.number == number]

    def test_nothing_measured_nothing_said(self):
        self.assertEqual(self.outcomes([]), [])
        self.assertEqual(self.outcomes(series("pair 64", glibc=1.0, jemalloc=2.0), names=("glibc", "jemalloc")), [])

    def test_1_mean_of_time(self):
        for ours, met in ((0.89, True), (0.91, False), (scaled(SPREAD, 0.9), None)):
            rows = series("pair 64", glibc=2.0, jemalloc=1.0, ashlar=ours) + series("lifo 64", glibc=2.0, jemalloc=1.0,
                                                                                    ashlar=ours)
            mean = self.numbered(1, rows)[0]
            self.assertEqual((mean.met, mean.best_peer), (met, "jemalloc"))
        self.assertFalse(self.numbered(1, memory("idle", glibc=1.0, jemalloc=1.0, ashlar=1.0))[0].met)

    def test_1_the_mean_without_its_best_row(self):
        rows = series("realloc_growth vector", glibc=100.0, jemalloc=100.0, ashlar=1.0)
        rows += series("pair 64", glibc=2.0, jemalloc=1.0, ashlar=1.0) + series("lifo 64", glibc=2.0, jemalloc=1.0,
                                                                                ashlar=1.21)
        mean = self.numbered(1, rows)[0]
        self.assertTrue(mean.measured.startswith("0.23 "))
        self.assertTrue(mean.measured.endswith("without its best row (realloc_growth vector): 1.10"))

    def test_1_a_case_counts_once_in_the_mean_but_each_of_its_rows_is_judged(self):
        rows = series("bulk/first", glibc=1.0, jemalloc=1.0, ashlar=0.1) + series("bulk/warm", glibc=1.0, jemalloc=1.0,
                                                                                  ashlar=1.6)
        rows += series("pair 64", glibc=1.0, jemalloc=1.0, ashlar=1.0)
        mean, each = self.numbered(1, rows)
        self.assertTrue(mean.measured.startswith("0.63 "))  # 0.4 and 1.0, not 0.1, 1.6 and 1.0
        self.assertEqual(each.measured, "1 of 3 above")
        self.assertEqual([(row.label, row.best_peer) for row in each.not_met], [("bulk/warm", "glibc")])

    def test_1_a_peer_whose_instructions_alone_were_counted_hides_no_mean(self):
        rows = series("pair 64", glibc=2.0, ashlar=1.0) + self.counted(malloc=15.0)
        self.assertTrue(self.numbered(1, rows)[0].met)
        text = tables.summary(rows, ["glibc", "jemalloc", "ashlar"])
        self.assertIn("| jemalloc | - |", text)

    def test_1_no_row_far_behind(self):
        for ours, met, said, named in (
                (1.09, True, "0 of 1 above", ()),
                (1.11, False, "1 of 1 above", (targets.NotMet("pair 64", 1.11, "glibc", True),)),
                (scaled(SPREAD, 1.1), None, "0 of 1 above, 1 undecided",
                 (targets.NotMet("pair 64", 1.1, "glibc", False),))):
            each = self.numbered(1, series("pair 64", glibc=1.0, jemalloc=2.0, ashlar=ours))[1]
            self.assertEqual((each.met, each.measured, each.not_met), (met, said, named))

    def test_1_rows_that_are_above_come_first_and_each_kind_from_the_worst_on(self):
        rows = [each for case, ours in (("a", 1.2), ("b", scaled(SPREAD, 1.5)), ("c", 1.3))
                for each in series(case, glibc=1.0, ashlar=ours)]
        each = self.numbered(1, rows, names=("glibc", "ashlar"))[1]
        self.assertEqual([(row.label, row.above) for row in each.not_met], [("c", True), ("a", True), ("b", False)])

    def test_1_more_is_better_where_the_unit_is_a_rate(self):
        rows = series("larson 1 2", unit="Mops/s", glibc=100.0, jemalloc=50.0, ashlar=120.0)
        mean, each = self.numbered(1, rows)
        self.assertEqual((mean.met, each.met), (True, True))

    def test_2_peak_memory_is_set_against_the_memory_peers_only(self):
        for ours, mean_met, row_met in ((94.0, True, True), (100.0, False, True), (120.0, False, False),
                                        (scaled(SPREAD, 95), None, None)):
            mean, each = self.numbered(2, memory("pair 64", glibc=10.0, jemalloc=100.0, ashlar=ours))
            self.assertEqual((mean.met, mean.best_peer, each.met), (mean_met, "jemalloc", row_met))
        self.assertEqual(self.numbered(2, memory("pair 64", jemalloc=100.0, ashlar=120.0),
                                       names=("jemalloc", "ashlar"))[1].not_met,
                         (targets.NotMet("pair 64", 1.2, "jemalloc", True),))
        self.assertEqual(self.numbered(2, memory("pair 64", glibc=1.0, ashlar=1.0), names=("glibc", "ashlar"),
                                       memory_peers=()), [])

    def idle(self, seconds, ours, peer=3.0):
        return series(f"idle_after_peak quiet/{seconds}s", "ratio", "ratio", jemalloc=peer, ashlar=ours)

    def test_figures_of_one_row(self):
        """Of each: its rows with a value of ours; values that meet the limit, that do not, and that do not tell; how the
        best peer's text begins; what the figure's text has."""
        def latency(function, key):
            return lambda ours: series(f"latency {function}/{key}", "ns", "latency", glibc=900.0, jemalloc=300.0, ashlar=ours)

        counted = series("scaling 2", "calls", "system_calls", glibc=400.0, ashlar=300.0)
        one = series("scaling 1", "Mops/s", glibc=10.0, ashlar=10.0)
        two = series("scaling 2", "Mops/s", glibc=10.0, ashlar=10.0)
        figures = (
            (2, lambda ours: self.idle(0, 9.0) + self.idle(10, ours), [1.1], 1.3, scaled(SPREAD, 1.2), "jemalloc 3.00 (",
             "idle for 10 s"),
            (3, lambda ours: series("robson 16-16384/held", "ratio", "ratio", glibc=2.0, jemalloc=1.5, ashlar=ours), [1.5, 1.4],
             1.6, scaled(SPREAD, 1.5), "jemalloc ", ""),
            *((5, latency(function, key), [300.0], 310.0, scaled(SPREAD, 300), "jemalloc ", function)
              for function in ("malloc", "free") for key in ("p99.99", "max")),
            (6, lambda ours: one + series("scaling 2", "Mops/s", glibc=15.0, ashlar=ours) + counted, [19.5], 18.5,
             scaled(SPREAD, 19), "glibc 1.50 (", ""),
            (6, lambda ours: two + series("scaling 64", "Mops/s", glibc=5.0, ashlar=ours), [9.0], 7.0, scaled(SPREAD, 8),
             "glibc 0.50 (", ""),
            (7, lambda ours: series("startup process", "ns/process", glibc=1e6, jemalloc=1.5e6, ashlar=ours), [1.9e6, 0.9e6],
             2.1e6, [1.1e6, 1.2e6, 2e6, 3e6, 4e6], "jemalloc +0.50 ms (", ""),
            (7, lambda ours: series("startup rss", "KiB", "memory", glibc=2048, ashlar=ours), [3000], 3100,
             [2100, 2200, 3072, 4000, 5000], "-", ""),
        )
        for number, rows, met, not_met, undecided, best_peer, figure in figures:
            for ours, outcome in (*((each, True) for each in met), (not_met, False), (undecided, None)):
                with self.subTest(number=number, ours=ours):
                    found, = self.numbered(number, rows(ours))
                    self.assertEqual(found.met, outcome)
                    self.assertTrue(found.best_peer.startswith(best_peer), found.best_peer)
                    self.assertIn(figure, found.figure)

    def test_figures_without_their_rows_are_absent(self):
        for number, rows in (
                (3, series("pareto 8M/held", "ratio", "ratio", glibc=2.0, ashlar=1.0)),
                (5, series("latency malloc/p99", "ns", "latency", glibc=1.0, ashlar=2.0)),
                (6, series("scaling 1", "Mops/s", glibc=10.0, ashlar=10.0)),
                (7, series("startup rss", "KiB", "memory", jemalloc=2048, ashlar=1))):
            self.assertEqual(self.numbered(number, rows), [])

    def test_2_what_came_back_early_is_met_and_what_did_not_may_still_come(self):
        self.assertTrue(self.numbered(2, self.idle(1, 1.1))[0].met)
        self.assertIsNone(self.numbered(2, self.idle(1, 1.3))[0].met)
        self.assertEqual(self.numbered(2, self.idle(60, 1.1)), [])

    def counted(self, **values):
        return [each for function, value in values.items() for size in (16, 64)
                for each in series(f"hit_path {function}/{size}", "instructions", "hit_path",
                                   ashlar=[value + size / 64], jemalloc=[20.0])]

    def test_4_instructions_as_counted(self):
        malloc, free = self.numbered(4, self.counted(malloc=15.0, free=16.0))
        self.assertEqual((malloc.met, free.met), (True, False))
        self.assertEqual((malloc.measured, malloc.best_peer), ("15.2 to 16 (callgrind, this run)", "jemalloc 20"))

    def test_4_else_as_the_tests_hold_them_else_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            golden = Path(folder) / "hit_path.txt"
            golden.write_text("# call 16 64\nmalloc 16 17\nfree 14 14\n")
            rows = series("pair 64", glibc=1.0, ashlar=1.0)
            malloc, free = self.numbered(4, rows, golden=golden)
            self.assertEqual((malloc.met, free.met), (False, True))
            self.assertIn("hit_path.txt", malloc.measured)
            self.assertEqual(self.numbered(4, rows, names=("glibc",), golden=golden), [])
        self.assertEqual(self.numbered(4, rows), [])

    def test_the_golden_file_of_the_tests_is_there(self):
        self.assertTrue(targets.GOLDEN_HIT_PATH.is_file())

    def test_5_a_maximum_is_compared_by_the_medians_of_the_rounds(self):
        # Within their rounds ours is the shorter one in four of five, by chance; both medians are 90.
        rows = series("latency free/max", "ns", "latency", glibc=[90, 80, 5000, 6000, 70],
                      ashlar=[80, 100, 90, 5000, 60])
        found, = self.numbered(5, rows, names=("glibc", "ashlar"))
        self.assertIsNone(found.met)
        self.assertIn("ratio 1.000", found.measured)
        self.assertIn("median of the rounds", found.figure)

    def grown(self, ours, no_calls=(2, 20)):
        rows = []
        for count, value, without in zip((10_000, 1_000_000), ours, no_calls):
            facts = {name: f"no_calls={without}" for name in ("jemalloc", "ashlar")}
            rows += series(f"growth {count}/churn", facts=facts, jemalloc=5.0 * count ** 0.25, ashlar=value)
        return rows

    def test_8_at_the_most_live_blocks_against_the_best_peer(self):
        peer = 5.0 * 1_000_000 ** 0.25
        for ours, met in ((peer - 1, True), (peer + 1, False), (scaled(SPREAD, peer), None)):
            found = self.numbered(8, self.grown((10.0, ours)))[0]
            self.assertEqual(found.met, met)
            self.assertIn("1,000,000", found.figure)

    def test_8_growth_over_that_without_calls(self):
        for ours, met, shown in ((90.0, True, "0.90"), (110.0, False, "1.10"), (scaled(SPREAD, 100), None, "1.00")):
            _, found = self.numbered(8, self.grown((10.0, ours)))
            self.assertEqual((found.met, found.measured.partition(" (")[0]), (met, shown))
            self.assertIn("10,000 to 1,000,000", found.figure)

    def test_8_one_count_has_not_grown(self):
        rows = [each for each in self.grown((10.0, 1.0)) if "10000/" in each["row"]]
        self.assertEqual(len(self.numbered(8, rows)), 1)
        self.assertEqual(len(self.numbered(8, [{**each, "fact": ""} for each in self.grown((10.0, 1.0))])), 1)


class FewRounds(unittest.TestCase):
    def test_only_a_large_difference_is_told_by_one_round(self):
        for ours, met in ((0.6, True), (1.0, None), (1.4, False)):
            rows = series("pair 64", glibc=[1.0], ashlar=[ours])
            found = targets.outcomes(rows, ["glibc", "ashlar"], [], NO_FILE)
            self.assertEqual(found[1].met, met)

    def test_rounds_that_disagree_decide_nothing(self):
        rows = series("pair 64", glibc=[1.0, 1.0], ashlar=[0.5, 2.0])
        self.assertIsNone(targets.outcomes(rows, ["glibc", "ashlar"], [], NO_FILE)[1].met)

    def test_memory_differs_less_from_round_to_round(self):
        rows = memory("pair 64", jemalloc=[1000.0], ashlar=[1050.0])
        found = targets.outcomes(rows, ["jemalloc", "ashlar"], ["jemalloc"], NO_FILE)
        self.assertTrue(next(each for each in found if each.figure == "peak RSS of each row").met)


class Tables(unittest.TestCase):
    def test_the_table_names_what_was_not_measured(self):
        text = tables.target_table(series("pair 64", glibc=1.0, ashlar=0.5), ["glibc", "ashlar"], [])
        self.assertIn("| 1 | time against the best single peer", text)
        self.assertRegex(text, r"\nNot in these rows: figures 2, 3, 5, 6, 7, 8\.\n$")
        self.assertNotIn("| row |", text)

    def test_rows_that_miss_a_target_are_a_table_of_their_own(self):
        rows = [each for case, ours in (("a", 2.0), ("b", scaled(SPREAD, 1.1)))
                for each in series(case, glibc=1.0, ashlar=ours)]
        text = tables.target_table(rows, ["glibc", "ashlar"], [])
        self.assertIn("| 1 of 2 above, 1 undecided | each row's own | **no** |\n", text)
        self.assertIn("\n| **1: time of each row** | | | |\n| a | 2.00 | glibc | above |\n"
                      "| b | 1.10 | glibc | undecided |\n", text)

    def test_losses_are_counted_and_each_is_named(self):
        rows = [each for case, ours in (("a", 2.0), ("b", 3.0), ("c", 0.5), ("d", 1.0))
                for each in series(case, glibc=1.0, ashlar=ours)]
        text = tables.losses([("Time", comparison.build(rows)), ("Rate", [])])
        self.assertIn("\n| Time | 1 | 1 | 0 | 2 | 4 |\n\n", text)
        self.assertTrue(text.endswith("\n| Time | b 3.00 glibc, a 2.00 glibc |\n"))
        self.assertNotIn("Rate", text)

    def test_without_a_loss_none_is_named(self):
        text = tables.losses([("Time", comparison.build(series("a", glibc=2.0, ashlar=1.0)))])
        self.assertTrue(text.endswith("\n| Time | 1 | 0 | 0 | 0 | 1 |\n"))
        self.assertEqual(tables.losses([("Time", [])]), "")

    def test_means_are_printed_without_the_row_that_carries_them(self):
        rows = [each for case, ours in (("a", 0.01), ("b", 1.0), ("c", 1.0))
                for each in series(case, glibc=1.0, ashlar=ours)]
        names = ["glibc", "ashlar"]
        self.assertIn("without its best row (a): 1.00 |", tables.table(comparison.build(rows), names))
        self.assertIn("| ashlar | 0.22 | 1.00 (a) |", tables.summary(rows, names))


if __name__ == "__main__":
    unittest.main()
