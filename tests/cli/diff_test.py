#!/usr/bin/env python3
"""`ashlar diff`, and what `ashlar report --text` says of growth, as a user meets them.

Given: command, older_shop, newer_shop: two builds of a program; has_recorder.
"""
import json
import os
import re
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main  # pylint: disable=wrong-import-position

BOTH = "a.atrace b.atrace"


class TextTrace:
    """A recording as text. Its calls are pools, which have names without a program."""

    def __init__(self):
        self.time = self.block = 0
        self.lines = ["ashlar-trace-text 1", "header program /bin/shop", "header arguments shop\\00", "header pid 7",
                      "header ticks_per_second 1000000"]
        for number, pool in enumerate(("orders", "lines", "notes", "index"), 1):
            at = 0x1000 * number
            self.lines += [f"module {at - 1:#x} {at + 1:#x} {at:#x} {pool}", f"stack {number} {at:#x}"]

    def add(self, event):
        self.time += 1000
        self.lines.append(f"{self.time} 1 {event}")
        return self

    def holds(self, stack, blocks, size, frees=False):
        for _ in range(blocks):
            self.block += 1
            self.add(f"malloc {16 * self.block:#x} {size}" + (f" stack={stack}" if stack else ""))
            if frees:
                self.add(f"free {16 * self.block:#x}")
        return self

    def uses(self, stack, blocks, size):
        return self.holds(stack, blocks, size, frees=True)


NO_STACK, ORDERS, LINES, NOTES, INDEX = range(5)


class WithTraces(CommandInFolder):
    def write_trace(self, name, trace):
        self.write("text", "\n".join(trace.lines) + "\n")
        self.ashlar(f"export --from-text text -o {name}")
        os.remove(self.path("text"))


class Diff(WithTraces):
    def setUp(self):
        super().setUp()
        self.write_trace("a.atrace", TextTrace().holds(LINES, 1, 8).uses(NOTES, 4, 40).holds(ORDERS, 10, 100))
        self.write_trace("b.atrace", TextTrace().holds(LINES, 1, 8).holds(ORDERS, 10, 300).holds(INDEX, 1, 5000))

    def test_tells_what_changed_the_largest_change_first(self):
        said = self.ashlar(f"diff {BOTH}", out=(
            "  before         a.atrace: shop, 0.", "at the peak        1008 B  7.8 KiB  +6.8 KiB  +694.4 %",
            "temporaries             4        0        -4  -100.0 %",
            "  +4.9 KiB at the peak, new\n    (held at the end +4.9 KiB; allocated in all +4.9 KiB; allocations +1)\n"
            "      index\n  +2.0 KiB at the peak, from 1000 B to 2.9 KiB\n",
            "  2 call sites have as much as before\n", "4.0 KiB to 8.0 KiB     0 B  4.9 KiB  +4.9 KiB\n",
            "               300     0 B  2.9 KiB  +2.9 KiB\n"))
        self.assertEqual(said.err, "")

    def test_by_another_figure_it_is_sorted_by_that(self):
        self.lacks(self.ashlar(f"diff --by temporaries {BOTH}", out=(
            "  -4 temporaries, gone\n", "call sites by the change of the temporaries\n")).out, "      index\n")

    def test_a_reader_who_has_seen_enough_still_gets_the_file(self):
        """Of all commands that read traces, print, and write a file."""
        for line in (f"diff --json=found.json {BOTH}", "report --text --json=found.json a.atrace", "leaks --json=found.json --trace a.atrace"):
            self.without_reader(line, status=-signal.SIGPIPE)
            self.assertEqual(self.json("found.json")["report"], line.split()[0])
            os.remove(self.path("found.json"))

    def test_json_has_all_that_differs(self):
        self.ashlar(f"diff --rows 1 --json=d.json {BOTH}", out="1 more call site changed (--rows 2 lists them)")
        found = self.json("d.json")
        self.assertEqual((found["report"], found["by"], found["before"]["bytes_at_peak"], found["after"]["bytes_at_peak"],
                          found["after"]["arguments"]), ("diff", "peak", 1008, 8008, ["shop"]))
        index, orders, notes = found["call_sites"]
        self.assertEqual((index["frames"][0], index["state"], index["site"]["name"]), ("index", "new", "index"))
        self.assertEqual((orders["state"], orders["before"]["bytes_at_end"]), ("in both", 1000))
        self.assertEqual((notes["state"], notes["before"]["temporaries"]), ("gone", 4))
        self.assertEqual((found["equal_call_sites"], len(found["sizes"])), (1, 4))
        self.assertEqual(len(found["doublings"]), 5, "that which is the same, too")
        self.assertEqual((found["doublings"][0]["most"], found["before"]["lost_events"]), (8, 0))
        course = found["after"]["over_time"]
        self.assertEqual((course["live_bytes"][-1], course["seconds"][-1]), (8008, found["after"]["seconds"]))
        self.assertEqual(len(course["seconds"]), len(course["live_bytes"]))

    def test_the_page_is_written_beside_the_json(self):
        """tests/report/diff_page_test.py looks at it."""
        self.ashlar(f"diff -o d.html --json=d.json --fail-above 1 {BOTH}", status=1, err="ashlar diff: d.html (")
        page = self.read("d.html")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn(self.json("d.json"), [json.loads(line) for line in page.splitlines() if line.startswith("{\"")])

    def test_the_page_sums_up_small_changes(self):
        for name, large, small in (("a.atrace", 10, 1), ("b.atrace", 20, 2)):
            self.write_trace(name, TextTrace().uses(NOTES, 30000, 40).holds(ORDERS, large, 100000).holds(LINES, small, 8)
                             .holds(INDEX, 2 * small, 4))
        self.ashlar(f"diff -o d.html --json=d.json {BOTH}")
        self.assertEqual(len(self.json("d.json")["call_sites"]), 3)
        sites = json.loads(self.read("d.html").partition('id="data">\n')[2].partition("\n")[0])["call_sites"]
        self.assertEqual([site["site"]["name"] for site in sites], ["orders", "(smaller changes of 2 call sites)"])
        self.assertEqual((sites[1]["before"]["births"], sites[1]["after"]["bytes_at_end"]), (3, 32))

    def test_above_the_limit_the_status_is_one(self):
        for options, status, err in (
                (f"--fail-above 7000 {BOTH}", 0, ()),
                (f"--fail-above 6999 {BOTH}", 1, "ashlar: the bytes at the peak grew by 6.8 KiB, more than 6.8 KiB (--fail-above)\n"),
                ("--fail-above 0 b.atrace a.atrace", 0, ()),  # it shrank
                ("--by temporaries --fail-above 3 b.atrace a.atrace", 1, "the temporaries grew by 4, more than 3"),
                (f"--by temporaries --fail-above 3 {BOTH}", 0, ()), ("--fail-above 0 a.atrace a.atrace", 0, ())):
            self.ashlar(f"diff {options}", status=status, err=err)

    def test_what_grew_is_for_other_readers_too(self):
        """The call sites that grew are notes, and above the limit errors."""
        def said_of(options):
            return self.ashlar(f"diff {options} {BOTH}", status=None).out
        within, one = said_of("--for=github"), said_of("--for=github --rows=1")
        self.assertTrue(within.startswith("::notice title=ashlar increase::4.9 KiB at the peak more, "), within)
        self.assertEqual(within.count("\n"), 2, "what shrank is none")
        self.assertEqual(one.count("\n"), 1, one)
        self.assertRegex(said_of("--for=github --fail-above=0"), "^::error ")
        self.has(said_of("--for=junit"), 'tests="2" failures="0"')
        self.has(said_of("--for=junit --fail-above=0"), 'tests="2" failures="2"')
        results = json.loads(said_of("--for=sarif"))["runs"][0]["results"]
        self.assertEqual((len(results), results[0]["ruleId"]), (2, "increase"))
        self.ashlar("diff --for=junit a.atrace a.atrace", out='tests="1" failures="0"')

    def test_what_cannot_be_compared_is_named(self):
        self.write("text.txt", "no trace")
        for line, named in (("", "BEFORE"), ("a.atrace", "AFTER"), ("a.atrace gone.atrace", "gone.atrace"),
                            ("text.txt a.atrace", "text.txt: at byte 0: this is no trace"),
                            (f"--by size {BOTH}", "--by: 'size' is none of peak, held, allocated, allocations, temporaries"),
                            (f"--fail-above much {BOTH}", "much"), (f"--depth 0 {BOTH}", "--depth"),
                            (f"--json=b.atrace {BOTH}", "is an input"), (f"-o a.atrace {BOTH}", "is an input"),
                            (f"-o gone/d.html {BOTH}", "gone/d.html"), (f"-o d --json=d {BOTH}", "--json")):
            self.assertEqual(self.ashlar(f"diff {line}", status=2, err=named).out, "")

    def test_a_trace_without_its_end_or_with_lost_events_says_so(self):
        self.cut("b.atrace", 3)
        self.ashlar(f"diff {BOTH}", err="b.atrace: at byte ")
        self.write_trace("lost.atrace", TextTrace().holds(ORDERS, 1, 8).add("lost 12"))
        self.ashlar("diff a.atrace lost.atrace", status=None, err="lost.atrace: 12 events were lost")

    def test_without_stacks_it_tells_the_sum_and_how_to_get_them(self):
        self.write_trace("a.atrace", TextTrace().holds(NO_STACK, 10, 100))
        self.write_trace("b.atrace", TextTrace().holds(NO_STACK, 10, 200))
        self.ashlar(f"diff {BOTH}", status=None, err="a.atrace has no calls: record it without --no-stacks\n",
                    out=("  +1000 B at the peak, from 1000 B to 2.0 KiB\n", "      calls that were not recorded\n"))

    def test_of_two_builds_the_functions_are_compared(self):
        """Two builds of one program: other names, addresses and lines."""
        if GIVEN["has_recorder"] != "1":
            self.skipTest("this build has no recorder")
        for trace, program in (("a.atrace", "older_shop"), ("b.atrace", "newer_shop")):
            self.ashlar(f"record --stacks -o {trace} -- {GIVEN[program]}")
        self.ashlar(f"diff --json=d.json {BOTH}")
        sites = {re.match(r"\w+", site["frames"][0])[0]: site for site in self.json("d.json")["call_sites"]}
        self.assertEqual({name: site["state"] for name, site in sites.items()},  # what the C library allocates is the same
                         {"make_order": "in both", "add_index": "new", "drop_note": "gone"})
        self.assertEqual([sites["make_order"][when]["bytes_at_peak"] for when in ("before", "after")], [100 * 100, 100 * 300])
        self.assertEqual(sites["add_index"]["after"]["bytes_at_end"], 5000)
        self.assertEqual(sites["drop_note"]["before"]["temporaries"], 100)


class StatOfGrowth(WithTraces):
    def test_names_what_rises_all_through_the_run(self):
        trace = TextTrace().holds(ORDERS, 20, 1000)  # a start-up
        for _ in range(100):
            trace.uses(NOTES, 5, 40).holds(LINES, 1, 64)
        self.write_trace("a.atrace", trace)
        head = "\n  rising all through the run, the steepest first\n\n"
        told = self.ashlar("report --text --full a.atrace", out=head).out.partition(head)[2]
        self.has(told, " a second: ", "; confidence > 99.9 %\n      lines\n")
        stat = self.ashlar("report --text --json a.atrace").json()
        site, = stat["growing"]["call_sites"]
        self.assertEqual((site["frames"], stat["temporaries"]), (["lines"], 500))
        self.assertAlmostEqual(site["bytes_per_second"], 64 / 0.011, delta=200)  # 64 bytes in 11 ms
        self.assertGreater(site["tau"], 0.8)
        self.assertGreater(site["confidence"], 0.99)
        self.assertAlmostEqual(stat["growing"]["seconds"], 1.1, delta=0.05)

    def test_says_nothing_where_nothing_does(self):
        self.write_trace("a.atrace", TextTrace().holds(ORDERS, 20, 1000).uses(NOTES, 500, 40))
        self.lacks(self.ashlar("report --text --full a.atrace", out="500 of 520 blocks were freed by the next call").out, "rising")


if __name__ == "__main__":
    main()
