#!/usr/bin/env python3
"""Shows that matrix.py sees what it is there to see: each outcome from a child that has it, a detection that is lost,
a message that says less.

Run: matrix_bites.py --programs DIR, as matrix.py. Ends with 1 if something is not seen.
"""
import argparse
import dataclasses
import os
import pathlib
import sys
import unittest
import unittest.mock

import cells
import columns
import expected
import matrix
from cells import Cell, Run
from columns import Column

PROGRAMS = pathlib.Path()

SAYS = {"name": "double_free", "title": "", "says": ["double_free"]}
FULL = "ashlar: free(0xa0): the block is free already (double free), pool 'corpus', block size 64\n"


def judge(out: str, err: str = "", code: int | None = -6) -> Cell:
    return cells.classify(Run(out, err, code), SAYS, "corpus")


class Outcomes(unittest.TestCase):
    def test_each_outcome(self):
        for outcome, cell in {
                "reported": judge("misused: 0xa0\n", FULL),
                "reported late": judge("misused: 0xa0\ndamage: x\n", FULL),
                "damage": judge("misused: 0xa0\ndamage: x\n", ""),
                "died": judge("misused: 0xa0\n", "", -11),
                "silent": judge("misused: 0xa0\nended: \n", "", 0),
                "harmless": judge("misused: 0xa0\nharmless: x\nended: \n", "", 0),
                "n/a": judge("not applicable: x\nended: \n", "", 0),
                "hung": judge("misused: 0xa0\n", "", None)}.items():
            self.assertEqual(cell, Cell(outcome))

    def test_what_is_the_corpus_fault(self):
        for cell in (judge("", FULL), judge("misused: 0xa0\n", "", 0), judge("misused: 0xa0\n", "", 2),
                     judge("misused: 0xa0\nbroken: x\n", FULL)):
            self.assertEqual(cell.outcome, "broken")

    def test_what_a_read_saw(self):
        self.assertEqual(judge("misused: 0xa0\nseen: zeros\nended: \n", "", 0), Cell("silent", "", "zeros"))

    def test_another_line_is_no_message_of_ashlar(self):
        for line in ("free(): double free detected in tcache 2\n",
                     "ashlar: ASHLAR_CHECK=2 is ignored: expected 0 or 1\n"):
            self.assertEqual(judge("misused: 0xa0\n", line).outcome, "died")


class Messages(unittest.TestCase):
    def lacks(self, line: str) -> str:
        return judge("misused: 0xa0\n", line).lacks

    def test_what_a_line_does_not_say(self):
        self.assertEqual(self.lacks(FULL), "")
        self.assertEqual(self.lacks(FULL.replace("0xa0", "0xa")), "address")
        self.assertEqual(self.lacks(FULL.replace(", pool 'corpus'", "")), "pool")
        self.assertEqual(self.lacks(FULL.replace(", block size 64", "")), "block size")
        self.assertEqual(self.lacks(FULL.replace("the block is free already (double free)",
                                                 "bytes behind the block were overwritten")), "what")

    def test_the_best_line_counts(self):
        self.assertEqual(self.lacks(FULL.replace(", block size 64", "") + FULL), "")

    def test_a_leak_has_a_number_for_an_address(self):
        leak = {"name": "leak", "title": "", "says": ["leak"]}
        line = "ashlar: ~pool(0x0): the allocator ended with blocks in use, pool 'corpus', block size 64"
        for more, lacks in ((", blocks 3\n", ""), ("\n", "address")):
            done = Run("misused: 0xa0\nended: \n", line + more, 0)
            self.assertEqual(cells.classify(done, leak, "corpus"), Cell("reported", lacks))

    def test_every_kind_that_matrix_json_names_is_a_kind(self):
        for fault in columns.load()["faults"]:
            for kind in fault["says"]:
                self.assertIn(kind, cells.SENTENCES)


class LostDetections(unittest.TestCase):
    """Components with less checking than their column says, really run."""

    def lost(self, weaker: Column, level: str, faults: list[str]) -> list[str]:
        all_faults = {f["name"]: f for f in columns.load()["faults"]}
        wanted = expected.read()
        observed = cells.run_all([dataclasses.replace(weaker, level=level)], [all_faults[f] for f in faults], PROGRAMS)
        return expected.differences({key: wanted[key] for key in observed}, observed)

    def column(self, component: str, level: str) -> Column:
        return next(c for c in columns.of_ashlar(columns.load()) if (c.component, c.level) == (component, level))

    def test_a_pool_without_checks_in_the_place_of_one_with_them(self):
        weaker = self.column("fixed_pool", "check::none")
        found = self.lost(weaker, "check::cheap", ["none", "double_free", "free_interior"])
        self.assertEqual(found, ["fixed_pool, check::cheap, double_free: expected reported, is damage",
                                 "fixed_pool, check::cheap, free_interior: expected reported, is damage"])

    def test_a_heap_without_its_setting(self):
        found = self.lost(self.column("xmalloc", "default"), "ASHLAR_CHECK=full", ["none", "overflow_16"])
        self.assertEqual(found, ["xmalloc, ASHLAR_CHECK=full, overflow_16: expected reported / address, is damage"])

    def test_a_cell_more_or_less(self):
        key = ("a", "b", "c")
        self.assertEqual(expected.differences({key: Cell("died")}, {}), ["a, b, c: expected died, is no cell"])
        self.assertEqual(expected.differences({}, {key: Cell("died")}), ["a, b, c: expected no cell, is died"])

    def test_a_setting_of_the_caller_does_not_leak_into_a_cell(self):
        column = Column("x", "", "x", "process_heap", "xmalloc")
        with unittest.mock.patch.dict(os.environ, {"ASHLAR_CHECK": "full"}):
            cell = cells.classify(cells.run(column, "overflow_16", PROGRAMS), SAYS, "")
        self.assertEqual(cell.outcome, "damage")


class Lists(unittest.TestCase):
    def test_what_is_listed_is_what_the_programs_have(self):
        listed = columns.load()
        self.assertEqual(columns.unlisted(listed, PROGRAMS), [])
        listed["faults"] = [f for f in listed["faults"] if f["name"] != "leak"]
        self.assertIn("arenas and matrix.json differ in faults: leak", columns.unlisted(listed, PROGRAMS))

    def test_what_is_missing_is_named(self):
        found = columns.missing(columns.of_ashlar(columns.load()), pathlib.Path("/nowhere"))
        self.assertTrue(any(f.startswith("no program /nowhere/arenas: ") for f in found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    options = parser.parse_args()
    PROGRAMS = options.programs.resolve()
    unittest.main(argv=[sys.argv[0]])
