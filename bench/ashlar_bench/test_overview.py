"""The overview's lines, verdicts and page, on figures whose results are known."""

import unittest

from ashlar_bench import overview, page, quiet, tables
from ashlar_bench.test_comparison import result


def case(name, **values):
    """values: allocator -> its time in each round."""
    return [result(allocator, value, str(number), case=name, row=name) for allocator, series in values.items()
            for number, value in enumerate(series, 1)]


STEADY = [1.0] * 5
NAMES = ["glibc", "snmalloc", "ashlar"]


class Lines(unittest.TestCase):
    rows = [*case("pair 64", glibc=[4.0] * 5, snmalloc=[2.0] * 5, ashlar=[1.0] * 5),
            *case("fifo 64", glibc=[4.0] * 5, snmalloc=[1.0] * 5, ashlar=[2.0] * 5),
            *case("server 2", glibc=[1.0] * 5, snmalloc=[2.0] * 5, ashlar=[3.0] * 5)]

    def test_cases_are_grouped_by_their_first_word(self):
        found = {each.line.label: each for each in overview.judged(self.rows, NAMES)}
        self.assertEqual({"all cases", "small blocks, one thread", "two threads and more"}, set(found))
        self.assertEqual(len(found["all cases"].line.rows), 3)
        self.assertEqual(len(found["small blocks, one thread"].line.rows), 2)

    def test_the_best_peer_is_one_for_the_line_and_the_worst_row_has_its_own(self):
        _, small, threads = overview.judged(self.rows, NAMES)
        self.assertEqual((small.best_peer, small.ratio.verdict), ("snmalloc", "level"))
        self.assertEqual((small.worst.label, small.worst_ratio.median, small.worst.best_peer()),
                         ("fifo 64", 2.0, "snmalloc"))
        self.assertEqual((threads.best_peer, threads.ratio.verdict), ("glibc", "behind"))
        self.assertAlmostEqual(threads.ratio.median, 3.0)

    def test_a_loss_is_marked(self):
        threads = tables.overview_of(self.rows, NAMES).splitlines()[-1]
        self.assertIn("**behind**", threads)
        self.assertIn("1.00 glibc", threads)

    def test_every_workload_has_at_most_one_line_of_time(self):
        groups = [overview.SMALL, overview.LARGE, overview.HOLES, overview.CONTAINERS, overview.THREADS]
        self.assertEqual(sum(map(len, groups)), len(set().union(*groups)))

    def test_without_a_peer_there_is_no_overview(self):
        self.assertEqual(tables.overview_of(case("pair 64", ashlar=STEADY), ["ashlar"]), "")

    def test_the_page_marks_losses_and_keeps_the_charts_names_apart(self):
        svg = '<?xml version="1.0"?><svg><path id="a"/><use xlink:href="#a" clip-path="url(#a)"/></svg>'
        text = page.render(overview.judged(self.rows, NAMES), "2 CPUs <slow>", [("one", svg), ("two", svg)])
        self.assertEqual(text.count("<tr class=behind>"), 2)
        self.assertIn("2 CPUs &lt;slow&gt;", text)
        for name in ("chart0-a", "chart1-a"):
            self.assertEqual(text.count(name), 3)


class Quiet(unittest.TestCase):
    def test_noisy_probes_near_each_other_are_one_phase(self):
        self.assertEqual(quiet.phases([0, 60, 1000, 1060, 1100]), [(0, 60), (1000, 1100)])

    def test_a_slow_phase_is_told(self):
        probes = [(second, 2.0 if 600 <= second < 900 else 1.0) for second in range(0, 3000, 30)]
        text = quiet.describe(probes)
        self.assertIn("quiet in 90% of 100 probes", text)
        self.assertIn(f"{quiet.clock(600)} to {quiet.clock(870)}", text)

    def test_a_steady_machine_has_no_phase(self):
        self.assertEqual(quiet.describe([(second, 1.0) for second in range(10)]), "quiet in 100% of 10 probes")

    def test_stolen_time_is_the_eighth_count(self):
        self.assertEqual(quiet.stolen_and_all("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1"), (8, 36))
        self.assertEqual(quiet.stolen_and_all("intr 1"), (0, 0))


if __name__ == "__main__":
    unittest.main()
