"""The statistics, on figures whose results are known."""

import unittest

from ashlar_bench import comparison, targets


def result(allocator, value, round_name="1", **more):
    return {"round": round_name, "allocator": allocator, "source": "workload", "case": "pair 64", "row": "pair 64",
            "kind": "time", "unit": "ns/op", "value": value, "fact": "", **more}


def results(**values):
    """results(ashlar=[1, 2], ...): one value a round."""
    return [result(name, value, str(number)) for name, series in values.items()
            for number, value in enumerate(series, 1)]


class Ratios(unittest.TestCase):
    def row(self, **values):
        return comparison.build(results(**values))[0]

    def test_the_best_peer_is_that_of_least_median_and_never_ourselves(self):
        row = self.row(ashlar=[1, 1, 1], glibc=[9, 9, 2], mimalloc2=[5, 5, 5])
        self.assertEqual(row.best_peer(), "mimalloc2")

    def test_where_more_is_better_the_best_has_most(self):
        rows = [result("glibc", 10, unit="Mops/s"), result("mimalloc2", 20, unit="Mops/s"),
                result("ashlar", 10, unit="Mops/s")]
        row = comparison.build(rows)[0]
        self.assertEqual(row.best_peer(), "mimalloc2")
        self.assertAlmostEqual(row.ratio_to_best().median, 2.0)

    def test_ratios_are_taken_within_a_round(self):
        # The machine slowed down threefold in round 2, for both: ratios of medians would be off.
        row = self.row(ashlar=[1, 3, 1], glibc=[2, 6, 2.2])
        self.assertAlmostEqual(row.ratio("ashlar", "glibc").median, 0.5)

    def test_a_round_that_one_of_them_failed_in_is_left_out(self):
        row = comparison.build(results(ashlar=[1, 8], glibc=[2]))[0]
        self.assertAlmostEqual(row.ratio("ashlar", "glibc").median, 0.5)

    def test_few_rounds_have_no_interval(self):
        self.assertIsNone(comparison.bootstrap_interval([1.0, 1.1, 1.2, 1.3]))

    def test_the_interval_lies_within_the_values_and_about_the_median(self):
        values = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
        low, high = comparison.bootstrap_interval(values)
        self.assertTrue(1.0 <= low < 1.3 < high <= 1.6)
        self.assertEqual(comparison.bootstrap_interval([2.0] * 5), (2.0, 2.0))

    def test_verdicts(self):
        for median, interval, verdict in ((0.8, (0.7, 0.9), "ahead"), (1.2, (1.1, 1.3), "behind"),
                                          (1.2, (0.9, 1.5), "undecided"), (1.02, (1.01, 1.03), "level"),
                                          (1.2, None, "behind")):
            self.assertEqual(comparison.Ratio(median, interval).verdict, verdict)

    def test_noisy_rows_of_identical_sides_are_not_called_a_loss(self):
        values = [10, 14, 9, 13, 10, 15, 9]
        row = self.row(ashlar=values, glibc=values[::-1])
        self.assertIn(row.ratio_to_best().verdict, ("level", "undecided"))


class Means(unittest.TestCase):
    def test_geometric_mean(self):
        self.assertAlmostEqual(comparison.geometric_mean([1, 4]), 2)
        self.assertIsNone(comparison.geometric_mean([]))

    def test_only_rows_that_all_have_are_counted(self):
        rows = comparison.build([result("glibc", 2), result("ashlar", 1),
                                 result("ashlar", 1000, row="other", case="other")])
        self.assertAlmostEqual(comparison.means(rows, ["glibc", "ashlar"])["ashlar"], 0.5)

    def test_a_case_of_many_rows_weighs_one(self):
        rows = [result(name, value, row=f"bulk {part}", case="bulk") for name, part, value in
                (("glibc", "first", 4), ("glibc", "warm", 9), ("ashlar", "first", 1), ("ashlar", "warm", 1))]
        merged = comparison.by_case(comparison.build(rows))
        self.assertEqual(len(merged), 1)
        self.assertAlmostEqual(merged[0].cost("glibc"), 6)

    def test_peak_memory_is_counted_once_a_process_and_without_the_harness(self):
        rows = [result("glibc", 1, row=part, peak_rss_kib=500.0, harness_kib=100.0) for part in ("first", "warm")]
        row, = comparison.per_process(rows, "peak_rss_kib", "KiB", "harness_kib")
        self.assertEqual(row.all("glibc"), [400.0])

    def test_failures_are_no_figures(self):
        self.assertEqual(comparison.build([result("glibc", None, kind="failure")]), [])


class Targets(unittest.TestCase):
    def outcomes(self, ours):
        rows = [{**row, "peak_rss_kib": row["value"] * 100, "harness_kib": 0.0}
                for row in results(ashlar=ours, glibc=[2.0] * 5, jemalloc=[1.0] * 5)]
        found = targets.outcomes(rows, ["glibc", "jemalloc", "ashlar"], ["jemalloc"])
        return {outcome.figure.partition(",")[0]: outcome for outcome in found}

    def test_met_and_missed(self):
        for ours, met in (([0.5] * 5, True), ([1.5] * 5, False), ([0.5, 0.6, 1.5, 1.6, 1.4], None)):
            found = self.outcomes(ours)
            self.assertEqual(found["time against the best single peer"].met, met)
            self.assertEqual(found["each row's time against its own best peer"].met, met)
        self.assertIn("jemalloc", self.outcomes([1.0] * 5)["time against the best single peer"].target)

    def test_what_was_not_measured_is_absent(self):
        self.assertFalse(any("p99.99" in figure or "resident" in figure for figure in self.outcomes([1.0] * 5)))

    def test_scaling_is_the_rate_of_many_over_that_of_few(self):
        rows = [result(name, value, row=f"scaling {n}", case=f"scaling {n}", unit="Mops/s") for name, n, value in
                (("glibc", 1, 10), ("glibc", 2, 15), ("ashlar", 1, 10), ("ashlar", 2, 20))]
        row, = targets.scaling_rows(comparison.build(rows))
        self.assertEqual((row.median("ashlar"), row.median("glibc")), (2.0, 1.5))
        self.assertTrue(targets.scaling_figure(row).met)


if __name__ == "__main__":
    unittest.main()
