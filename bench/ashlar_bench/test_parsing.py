"""What is read: alloc_bench's lines and lists, the counters' reports, the CSV; and marked parts."""

import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from ashlar_bench import allocators, cases, cli, measure, results, tables
import page_part  # in the folder that ashlar_bench has added

LINE = ("workload=growth size=10000/churn unit=ns/op kind=time value=10.36 low=10.31 high=10.45 samples=3 "
        "operations=500000 peak_rss_kib=3360 final_rss_kib=3300 harness_kib=80 page_tables_kib=48 minor_faults=234 "
        "major_faults=0 no_calls=1.989\n")


class Lines(unittest.TestCase):
    def test_a_result_line(self):
        row, = measure.parse_lines("noise\n" + LINE)
        self.assertEqual((row["row"], row["unit"], row["kind"], row["fact"]),
                         ("growth 10000/churn", "ns/op", "time", "no_calls=1.989"))
        self.assertEqual((row["value"], row["final_rss_kib"]), ("10.36", "3300"))

    def test_without_a_kind_the_unit_tells(self):
        row, = measure.parse_lines("workload=idle size=rss unit=KiB value=9\n")
        self.assertEqual(row["kind"], "memory")

    def test_the_list_with_and_without_tags(self):
        tagged, bare = cases.parse_list("pair 64\tsingle,quick\n\nbulk 9\t\n")
        self.assertEqual((tagged.name, tagged.tags, bare.tags), ("pair 64", {"single", "quick"}, frozenset()))

    def test_choosing(self):
        listed = cases.parse_list("pair 16\tsingle\npair 64\tsingle,quick\nlarson 1 2\tthreads\n")
        self.assertEqual([c.name for c in cases.choose(listed, ["pair"], [])], ["pair 16", "pair 64"])
        self.assertEqual([c.name for c in cases.choose(listed, ["pair*"], ["quick"])], ["pair 64"])
        for wrong in ((["none"], []), ([], ["none"])):
            with self.assertRaises(allocators.UserError):
                cases.choose(listed, *wrong)

    def test_counters_reports(self):
        strace = ("% time     seconds  usecs/call     calls    errors syscall\n"
                  " 60.00    0.000300          10        30           mmap\n"
                  "100.00    0.000500           6        83         2 total\n")
        table = "instructions per call:\ncall\t16\t64\nmalloc\t16\t16.5\nfree\t17\t17\n"
        hits = {"hit_path malloc/16": 16.0, "hit_path free/16": 17.0, "hit_path malloc/64": 16.5, "hit_path free/64": 17.0}
        for parse, text, found in (
                (measure.parse_strace, strace, 83), (measure.parse_strace, "nothing\n", None),
                (measure.parse_hit_path, table, hits), (measure.parse_hit_path, "hit_path: no program\n", {}),
                (measure.parse_collected, "==1== Collected : 123456\n", 123456),
                (measure.parse_collected, "==1== killed\n", None)):
            self.assertEqual(parse(text), found)


class Processes(unittest.TestCase):
    """Real processes: that time, memory and ends are seen."""

    def test_cpu_time_is_that_of_the_process(self):
        busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo x"
        facts, status, out, _ = measure.run(["/bin/sh", "-c", busy], allocators.clean_environment())
        self.assertEqual((status, out), (0, b"x\n"))
        self.assertGreater(facts["user_s"], 0)
        self.assertGreaterEqual(facts["wall_s"] * 1.5 + 0.05, facts["user_s"])

    def test_an_end_by_signal_is_told(self):
        _, status, _, err = measure.run(["/bin/sh", "-c", "echo last words >&2; kill -SEGV $$"],
                                        allocators.clean_environment())
        self.assertEqual(measure.how_it_ended(status, err), "ended with signal 11: last words")

    def test_one_that_hangs_is_ended(self):
        with self.assertRaisesRegex(measure.Failed, "not finished after 0.2 s"):
            measure.run(["/bin/sh", "-c", "sleep 20 & wait"], allocators.clean_environment(), limit_seconds=0.2)

    def test_growth_may_take_longer(self):
        growth, pair = cases.parse_list("growth 100000000\tgrowth\npair 64\tsingle\n")
        self.assertEqual((measure.limit_of(growth), measure.limit_of(pair)), (900, 300))
        report = "workload=growth size=1/build unit=ns/op value=1 low=1 high=1 samples=1\n"
        with tempfile.TemporaryDirectory() as folder:
            bench = Path(folder) / "bench"
            bench.write_text(f"#!/bin/sh\nsleep 0.5\necho '{report.strip()}'\n")
            bench.chmod(0o755)
            with mock.patch.multiple(measure, TIMEOUT_SECONDS=0.1, GROWTH_TIMEOUT_SECONDS=30):
                row, = measure.workload(str(bench), growth, allocators.Allocator("glibc"), False)
                self.assertEqual(row["row"], "growth 1/build")
                with self.assertRaises(measure.Failed):
                    measure.workload(str(bench), pair, allocators.Allocator("glibc"), False)


class Rows(unittest.TestCase):
    def written(self):
        more = {"round": 1, "source": "workload", "case": "growth 10000", "wall_s": 0.5, "user_s": 0.4, "system_s": 0.1}
        return [{**measure.parse_lines(LINE)[0], **more, "allocator": name, "round": number}
                for name in ("glibc", "ashlar") for number in (1, 2)]

    def test_the_file_gives_back_what_was_written_even_when_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            results.write(path, {"allocators": "glibc,ashlar", "machine": "a: b"}, self.written())
            facts, rows = results.read(path)
            self.assertEqual(facts, {"allocators": "glibc,ashlar", "machine": "a: b"})
            self.assertEqual(rows, cli.normalised(self.written()))
            with open(path, "a", encoding="utf-8") as file:
                results.write_facts(file, {"load average": "0.5"})
            self.assertEqual(results.read(path), ({**facts, "load average": "0.5"}, rows))
            results.write(path, facts, self.written())
            path.write_text("".join(path.read_text().splitlines(True)[:-1]))
            self.assertEqual(len(results.read(path)[1]), 3)

    def test_a_foreign_file_is_refused(self):
        with self.assertRaises(ValueError):
            results.parse(["round,value\n", "1,2\n"])

    def test_a_report_names_failures_and_losses(self):
        rows = cli.normalised(self.written())
        for row in rows:
            row["value"] *= 2 if row["allocator"] == "ashlar" else 1
        rows.append({**rows[0], "kind": results.FAILURE, "value": None, "fact": "ended with signal 11"})
        text = tables.report({}, rows, ["glibc", "ashlar"])
        self.assertRegex(text, r"\| Time: workloads \| growth 10000/churn 2.00 glibc \|")
        self.assertIn("glibc, growth 10000: ended with signal 11", text)


class Markers(unittest.TestCase):
    TEXT = "Words.\n<!-- generated: a -->\nold\n<!-- end -->\nMore.\n<!-- generated: b-c -->\n<!-- end -->\n"

    def test_parts_are_replaced_and_the_rest_is_kept(self):
        new = page_part.rewritten(self.TEXT, {"a": "new \\1\n", "b-c": "x"})
        self.assertEqual(new, "Words.\n<!-- generated: a -->\nnew \\1\n<!-- end -->\nMore.\n"
                              "<!-- generated: b-c -->\nx\n<!-- end -->\n")
        self.assertEqual(page_part.rewritten(new, {"a": "new \\1", "b-c": "x"}), new)

    def test_unknown_parts_and_missing_ends_are_told(self):
        for text, parts in ((self.TEXT, {"a": ""}), ("<!-- generated: a -->\nno end\n", {"a": ""}),
                            ("<!-- generated: a -->\n<!-- generated: b -->\n<!-- end -->\n", {"a": "", "b": ""})):
            with self.assertRaises(SystemExit):
                page_part.rewritten(text, parts)


    def test_each_document_that_is_named_is_rewritten_and_the_published_ones_have_only_known_parts(self):
        root = Path(__file__).resolve().parents[2]
        with tempfile.TemporaryDirectory() as folder:
            pages = [Path(folder, name) for name in ("one.md", "two.md")]
            for page, published in zip(pages, ("results/bench.md", "docs/benchmarks.md")):
                page.write_text(re.sub(r"^(<!-- generated: .*\n)[^<]*(?=<!-- end)", r"\1stale\n",
                                       (root / published).read_text(), flags=re.M))
            rows = Path(folder, "rows.csv")
            results.write(rows, {}, Rows.written(self))
            with contextlib.redirect_stdout(io.StringIO()):
                cli.main(["tables", "--csv", str(rows), "--document", str(pages[0]), "--document", str(pages[1])])
            for page in pages:
                text = page.read_text()
                if "summary" in page_part.parts(text):
                    self.assertRegex(text, r"\| ashlar \| \d\.\d\d \|")
                self.assertNotIn("\nstale\n", text)


class Planning(unittest.TestCase):
    def test_every_cell_once_a_round_and_the_allocators_of_a_case_together(self):
        steps = cli.plan(["x", "y", "z"], ["a", "b"], 2, seed=1)
        self.assertEqual(len(steps), 6)
        for number in (1, 2):
            self.assertEqual(sorted(case for n, case, _ in steps if n == number), ["x", "y", "z"])
        self.assertTrue(all(sorted(order) == ["a", "b"] for _, _, order in steps))
        self.assertEqual(steps, cli.plan(["x", "y", "z"], ["a", "b"], 2, seed=1))
        self.assertNotEqual(steps, cli.plan(["x", "y", "z"], ["a", "b"], 2, seed=2))

    def test_tables_are_in_the_order_of_the_list_not_of_the_run(self):
        rows = [{"case": "y"}, {"case": "new"}, {"case": "x 1"}]
        self.assertEqual([row["case"] for row in cli.in_table_order({"cases": "x 1;y"}, rows)], ["x 1", "y", "new"])

    def test_given_libraries(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assertEqual(allocators.parse_given([f"x={file.name}"]), {"x": str(Path(file.name).resolve())})
        for wrong in ("x", "=y", "x=/no/such/file"):
            with self.assertRaises(allocators.UserError):
                allocators.parse_given([wrong])

    def test_wrong_arguments_end_with_status_2(self):
        for wrong in (["--rounds", "0"], ["tables"], ["--csv", "/no/such/folder/x"],
                      ["--instructions", "--system-calls"]):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said):
                cli.parse_arguments(wrong)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn("run_bench.py: error:", said.getvalue())


if __name__ == "__main__":
    unittest.main()
