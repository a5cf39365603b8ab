"""The statistics, on figures whose results are known."""

import unittest

from ashlar_bench import comparison, tables


def result(allocator, value, round_name="1", **more):
    return {"round": round_name, "allocator": allocator, "source": "workload", "case": "pair 64", "row": "pair 64",
            "kind": "time", "unit": "ns/op", "value": value, "fact": "", **more}


def results(case="pair 64", row="pair 64", **values):
    """results(ashlar=[1, 2], ...): one value a round."""
    return [result(name, value, str(number), case=case, row=row) for name, series in values.items()
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

    def test_one_that_was_measured_elsewhere_only_takes_no_row_from_the_others(self):
        rows = comparison.build([result("glibc", 2), result("ashlar", 1)])
        self.assertEqual(comparison.means(rows, ["glibc", "jemalloc", "ashlar"]), {"glibc": 1.0, "ashlar": 0.5})
        self.assertEqual(comparison.common([], ["glibc"]), [])

    def test_a_case_of_many_rows_weighs_one(self):
        rows = [result(name, value, row=f"bulk {part}", case="bulk") for name, part, value in
                (("glibc", "first", 4), ("glibc", "warm", 9), ("ashlar", "first", 1), ("ashlar", "warm", 1))]
        merged = comparison.by_case(comparison.build(rows))
        self.assertEqual(len(merged), 1)
        self.assertAlmostEqual(merged[0].cost("glibc"), 6)

    def test_the_mean_without_the_row_that_favours_one_most(self):
        rows = comparison.build([result(name, value, row=case, case=case) for name, case, value in
                                 (("glibc", "a", 100), ("ashlar", "a", 1), ("glibc", "b", 4), ("ashlar", "b", 2),
                                  ("glibc", "c", 4), ("ashlar", "c", 8))])
        rest, most = comparison.without_most_favourable(rows, "ashlar", "glibc")
        self.assertEqual((most.label, [row.label for row in rest]), ("a", ["b", "c"]))
        self.assertAlmostEqual(comparison.mean_ratios(rest, "ashlar", "glibc", ["ashlar", "glibc"])[0], 1.0)

    def test_a_round_that_lacks_a_row_is_in_no_mean(self):
        rows = comparison.build([result(name, value, case=case, row=case, round_name=each)
                                 for name, value in (("glibc", 4), ("ashlar", 2))
                                 for case, each in (("a", "1"), ("b", "1"), ("a", "2"))])
        self.assertEqual(len(comparison.mean_ratios(rows, "ashlar", "glibc", ["ashlar", "glibc"])), 1)

    def test_peak_memory_is_counted_once_a_process_and_without_the_harness(self):
        rows = [result("glibc", 1, row=part, peak_rss_kib=500.0, harness_kib=100.0) for part in ("first", "warm")]
        row, = comparison.per_process(rows, "peak_rss_kib", "KiB", "harness_kib")
        self.assertEqual(row.all("glibc"), [400.0])

    def test_failures_are_no_figures(self):
        self.assertEqual(comparison.build([result("glibc", None, kind="failure")]), [])

    def test_the_rate_of_more_threads_is_set_against_that_of_fewer_within_a_round(self):
        rows = [{**each, "unit": "Mops/s"} for threads, rates in ((1, [4, 5]), (2, [6, 10]))
                for each in results(f"scaling {threads}", f"scaling {threads}", ashlar=rates)]
        line, = comparison.scaling_rows(comparison.build(rows))
        self.assertEqual((line.label, line.all("ashlar")), ("rate of 2 threads over that of 1", [1.5, 2.0]))


class Tables(unittest.TestCase):
    def test_losses_are_counted_and_each_is_named(self):
        rows = [each for case, ours in (("a", 2.0), ("b", 3.0), ("c", 0.5), ("d", 1.0))
                for each in results(case=case, row=case, glibc=[1.0] * 5, ashlar=[ours] * 5)]
        text = tables.losses([("Time", comparison.build(rows)), ("Rate", [])])
        self.assertIn("\n| Time | 1 | 1 | 0 | 2 | 4 |\n\n", text)
        self.assertTrue(text.endswith("\n| Time | b 3.00 glibc, a 2.00 glibc |\n"))
        self.assertNotIn("Rate", text)

    def test_without_a_loss_none_is_named(self):
        text = tables.losses([("Time", comparison.build(results(glibc=[2.0] * 5, ashlar=[1.0] * 5)))])
        self.assertTrue(text.endswith("\n| Time | 1 | 0 | 0 | 0 | 1 |\n"))
        self.assertEqual(tables.losses([("Time", [])]), "")

    def test_means_are_printed_without_the_row_that_carries_them(self):
        rows = [each for case, ours in (("a", 0.01), ("b", 1.0), ("c", 1.0))
                for each in results(case=case, row=case, glibc=[1.0] * 5, ashlar=[ours] * 5)]
        names = ["glibc", "ashlar"]
        self.assertIn("without its best row (a): 1.00 |", tables.table(comparison.build(rows), names))
        self.assertIn("| ashlar | 0.22 | 1.00 (a) |", tables.summary(rows, names))


if __name__ == "__main__":
    unittest.main()
