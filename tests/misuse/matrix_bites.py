#!/usr/bin/env python3
"""Shows that matrix.py sees what it is there to see: each outcome, a detection that is lost or won, a message that says
less, a page that is stale; and that the compiler removes no fault from faults.c and malloc.c, at -O0 and at -O2.

Run: matrix_bites.py --programs DIR --libraries DIR --corpus DIR, as matrix.py. Ends with 1 if something is not seen.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import pathlib
import re
import tempfile
import unittest
import unittest.mock

import cells
import matrix
import page
import record
from cells import Column, Fault, judge, measure_all

PROGRAMS = LIBRARIES = COMPONENTS = pathlib.Path()
TABLE, CORPUS = cells.load("malloc"), cells.load("corpus")
RECORDED, CORPUS_RECORDED = (record.read(record.expected(name))[0] for name in ("malloc", "corpus"))
NAMES = list(dict.fromkeys(f.name for f in cells.faults(TABLE)))
ENDED = "| next 0xa0\n| back \n"
FULL = "ashlar: free(0xa0): the block is free already (double free), pool 'corpus', block size 64\n"


def drop_in(name: str = "ashlar", hardened: bool = False, **environment: str) -> Column:
    library = "libashlar-malloc-hardened.so" if hardened else "libashlar-malloc.so"
    return Column(name, str(LIBRARIES / library), tuple(environment.items()), says=True, random=hardened)


class Outcomes(unittest.TestCase):
    def test_each_outcome(self):
        for outcome, said, code in (
                ("at once", "| next 0xa0\nfree(): invalid pointer\n", -6),
                ("at once", "| next 0xa0\n", -6),
                ("at once", "| next 0xa0\na message\n| back \n| ended \n", 0),
                ("stopped", "| next 0xa0\n", -11),
                ("later", ENDED + "free(): invalid pointer\n", -6),
                ("later", ENDED + "| ended \na message at the exit\n", 0),
                ("late", ENDED + "| damage x\nfree(): invalid pointer\n", -6),
                ("damage", ENDED + "| damage x\n| ended \n", 0),
                ("damage", ENDED + "| damage x\n", -11),
                ("died", ENDED, -11),
                ("visible", ENDED + "| visible x\n| ended \n", 0),
                ("harmless", ENDED + "| harmless x\n| ended \n", 0),
                ("damage", ENDED + "| harmless x\n| damage x\n| ended \n", 0),
                ("silent", ENDED + "| ended \n", 0),
                ("n/a", "| inapplicable x\n| ended \n", 0),
                ("hung", ENDED, None)):
            self.assertEqual(judge(said, code), outcome, said)

    def test_ashlar_has_to_say_it_itself(self):
        for said, outcome in (("| next 0xa0\nashlar: free(0xa0): x\n", "at once"), ("| next 0xa0\n", "stopped"),
                              ("| next 0xa0\nfree(): invalid pointer\n", "stopped"),
                              ("| next 0xa0\nashlar: ASHLAR_CHECK=2 is ignored: expected 0 or 1\n", "stopped"),
                              ("| next 0xa0\n| back \nassertion failed\n", "died")):
            self.assertEqual(judge(said, -6, True), outcome, said)

    def test_what_is_the_programs_own_fault(self):
        for said, code in (("", 0), ("", -6), ("ERROR: ld.so\n| next 0xa0\n| back \n| ended \n", 0), (FULL, -6),
                           ("| next 0xa0\n| back \n", 0), ("| next 0xa0\n", 2), ("| next 0xa0\n| broken x\n", 3),
                           ("| next 0xa0\n| broken x\n" + FULL, -6), ("double_free\n", 2)):
            self.assertEqual(judge(said, code), "broken", said)

    def test_a_run_without_a_fault_has_to_be_silent(self):
        self.assertEqual(matrix.broken({("x", Fault("none", 16, "O0")): {"silent"}}), [])
        self.assertEqual(len(matrix.broken({("x", Fault("none", 16, "O0")): {"damage"}})), 1)
        self.assertEqual(len(matrix.broken({("x", Fault("double_free", 16, "O0")): {"broken"}})), 1)


class Messages(unittest.TestCase):
    """Of a component the record also has what the message does not say, and what a read saw."""
    COMPONENT = Column("pool", says=True, pool="corpus")

    def cell(self, said: str, code: int = -6, kind: str = "double_free") -> str:
        return cells.cell("| next 0xa0\n" + said, code, self.COMPONENT, Fault("x", 64, "O1", (kind,)))

    def test_what_a_line_does_not_say(self):
        for line, lacks in ((FULL, ""), (FULL.replace("0xa0", "0xa"), " / address"),
                            (FULL.replace(", pool 'corpus'", ""), " / pool"),
                            (FULL.replace(", block size 64", ""), " / block size"),
                            (FULL.replace("the block is free already (double free)",
                                          "bytes behind the block were overwritten"), " / what"),
                            (FULL.replace(", block size 64", "") + FULL, "")):  # the best line counts
            self.assertEqual(self.cell(line), "at once" + lacks)

    def test_a_leak_has_a_number_for_an_address(self):
        line = "ashlar: ~pool(0x0): the allocator ended with blocks in use, pool 'corpus', block size 64"
        for more, lacks in ((", blocks 3\n", ""), ("\n", " / address")):
            self.assertEqual(self.cell(f"{line}{more}| ended \n", 0, "leak"), "at once" + lacks)

    def test_every_kind_that_the_table_names_is_a_kind(self):
        self.assertLessEqual({kind for row in CORPUS["rows"] for kind in row["says"]}, set(cells.SENTENCES))


class TheFaultsHappen(unittest.TestCase):
    """Full checks with a page of its own for every block find each access and each call. So the compiler left it in."""
    TOLD_BY_THE_PROGRAM = {"none", "uninitialised_read", "next_address", "same_offsets", "calloc_overflow",
                           "size_overflow"}

    def test_every_fault_is_found_at_once_at_both_levels(self):
        which = [Fault(name, size, level) for name in NAMES if name not in self.TOLD_BY_THE_PROGRAM
                 for size in (64, 4096) for level in TABLE["levels"]]
        found = set()
        for before in "01":  # the closed page behind the block, then before it
            guarded = drop_in(ASHLAR_CHECK="full", ASHLAR_CHECK_GUARD="1", ASHLAR_CHECK_GUARD_BEFORE=before)
            found |= {fault for (_, fault), outcomes in measure_all([guarded], which, PROGRAMS).items()
                      if outcomes == {"at once"}}
        # A block of no bytes has some for the pattern there; in the hardened edition it has none.
        found |= {fault for (_, fault), outcomes in measure_all([drop_in(hardened=True)], which, PROGRAMS).items()
                  if fault.name.startswith("zero_") and outcomes <= {"at once", "stopped"}}
        self.assertEqual([fault for fault in which if fault not in found], [])

    def test_what_the_program_tells_by_itself(self):
        careless = Column("careless", str(PROGRAMS / "libcareless_malloc.so"))
        expected = {"calloc_overflow": "damage", "size_overflow": "damage", "uninitialised_read": "harmless",
                    "next_address": "harmless", "same_offsets": "visible", "double_free": "silent",
                    "overflow_16_store": "damage", "read_freed": "visible", "none": "silent"}
        for column, told in ((careless, expected),
                             (Column("glibc"), {"uninitialised_read": "visible", "next_address": "visible"})):
            which = [Fault(name, 64, level) for name in told for level in TABLE["levels"]]
            for (_, fault), outcomes in measure_all([column], which, PROGRAMS).items():
                self.assertEqual(outcomes, {told[fault.name]}, fault)

    def test_the_lists_are_those_of_the_programs(self):
        def listed(column: Column, level: str, programs: pathlib.Path, kind: str) -> set[str]:
            said, code = cells.run(column, Fault("no such fault", 64, level), programs)
            self.assertEqual(code, 2)
            return set(re.findall(rf"^{kind} (.*)$", said, re.MULTILINE))

        for level in TABLE["levels"]:
            self.assertEqual(listed(Column("glibc"), level, PROGRAMS, "fault"), set(NAMES))
        columns = cells.ours(CORPUS, LIBRARIES)
        for one in columns:
            self.assertEqual(listed(one, "O1", COMPONENTS, "component"),
                             {c.component for c in columns if c.program == one.program})
            self.assertLessEqual({f.name for f in cells.faults(CORPUS)}, listed(one, "O1", COMPONENTS, "fault"))


class LostDetections(unittest.TestCase):
    FAULT = Fault("overflow_1_store", 64, "O0")

    def differences(self, column: Column, *faults: str) -> list[str]:
        """What is said of this column, really run, in the place of the recorded one of its name."""
        recorded, programs, which = RECORDED, PROGRAMS, [self.FAULT]
        if faults:
            recorded, programs = CORPUS_RECORDED, COMPONENTS
            which = [f for f in cells.faults(CORPUS) if f.name in ("none", *faults)]
        observed = measure_all([column], which, programs)
        return [line.removeprefix(f"{column.name}, ") for line in
                record.differences({key: recorded[key] for key in observed}, observed)]

    def component(self, name: str) -> Column:
        return next(c for c in cells.ours(CORPUS, LIBRARIES) if c.name == name)

    def test_a_library_without_its_checks_is_worse(self):
        self.assertEqual(self.differences(drop_in("ashlar, CHECK=full")),
                         ["overflow_1_store, 64 bytes, -O0: worse: recorded later, is damage"])

    def test_more_checks_than_recorded_are_better_and_fail_too(self):
        self.assertEqual(self.differences(drop_in(ASHLAR_CHECK="full", ASHLAR_CHECK_GUARD="0")),
                         ["overflow_1_store, 64 bytes, -O0: better: recorded damage, is later"])

    def test_a_pool_without_checks_in_the_place_of_one_with_them(self):
        weaker = dataclasses.replace(self.component("fixed_pool, check::none"), name="fixed_pool, check::cheap")
        self.assertEqual(self.differences(weaker, "double_free", "free_interior_16"),
                         [f"{fault}, 64 bytes, -O1: worse: recorded at once, is damage"
                          for fault in ("double_free", "free_interior_16")])

    def test_a_heap_without_its_setting(self):
        weaker = dataclasses.replace(self.component("xmalloc, default"), name="xmalloc, ASHLAR_CHECK=full")
        self.assertEqual(self.differences(weaker, "overflow_16_store"),
                         ["overflow_16_store, 64 bytes, -O1: worse: recorded later, is damage"])

    def test_one_that_chooses_at_random_is_measured_again_and_may_still_be_worse(self):
        hardened = drop_in("ashlar, hardened", hardened=True)
        for library, outcome in ((drop_in().library, "damage"), (hardened.library, "later")):
            again = matrix.measured_again([dataclasses.replace(hardened, library=library)], PROGRAMS, RECORDED,
                                          {(hardened.name, self.FAULT): {"damage"}})
            self.assertEqual(again[hardened.name, self.FAULT], {outcome})

    def test_a_cell_more_or_less(self):
        key = ("x", Fault("double_free", 16, "O0"))
        self.assertIn("was not run", record.differences({key: {"at once"}}, {})[0])
        self.assertIn("has no record", record.differences({}, {key: {"at once"}})[0])

    def test_a_setting_of_the_caller_does_not_reach_a_cell(self):
        with unittest.mock.patch.dict(os.environ, {"ASHLAR_CHECK": "full"}):
            observed = measure_all([drop_in()], [self.FAULT], PROGRAMS)
        self.assertEqual(observed["ashlar", self.FAULT], {"damage"})

    def test_a_library_that_is_missing_is_named(self):
        with self.assertRaisesRegex(SystemExit, "no library /nowhere/libashlar-malloc.so"):
            cells.ours(TABLE, pathlib.Path("/nowhere"))


class Records(unittest.TestCase):
    def test_the_check_ends_with_1_for_a_lost_cell_and_for_a_stale_page(self):
        checked = set(cells.faults_checked(TABLE))
        observed = {key: set(cell) for key, cell in RECORDED.items() if key[1] in checked}

        def status(seen: cells.Outcomes) -> int:
            with contextlib.redirect_stdout(io.StringIO()):
                return matrix.check("malloc", TABLE, checked, seen)

        self.assertEqual(status(observed), 0)
        lost = next(key for key, cell in observed.items() if cell == {"at once"})
        self.assertEqual(status({**observed, lost: {"silent"}}), 1)
        self.assertEqual(status({key: cell for key, cell in observed.items() if key != lost}), 1)
        for name, old, new in (("PAGE", "caught of", "caught in"), ("CELLS", ",late; 256K", ",later; 256K")):
            with tempfile.NamedTemporaryFile("w") as copy:
                copy.write(getattr(page, name).read_text().replace(old, new, 2))
                copy.flush()
                with unittest.mock.patch.object(page, name, pathlib.Path(copy.name)):
                    self.assertEqual(status(observed), 1)

    def test_what_is_written_is_what_is_read(self):
        outcomes = {**RECORDED, ("glibc", Fault("double_free", 16, "O2")): {"later", "silent"}}
        versions = {name: "" for name, _ in RECORDED} | {"glibc": "2.36"}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "record.csv"
            record.write(file, TABLE, list(versions), outcomes, versions)
            self.assertEqual(record.read(file), (outcomes, versions))

    def test_a_peer_that_is_missing_is_not_measured(self):
        fault = Fault("double_free", 16, "O0")
        found = measure_all([Column("absent", is_there=False)], [fault], PROGRAMS)
        self.assertEqual(found, {("absent", fault): {"not measured"}})

    def test_a_cell_of_the_table_is_its_worst_and_where_it_is_better(self):
        sizes = {**{s: "damage" for s in TABLE["sizes"]}, 16: "silent", 262144: "at once", 4194304: "at once"}
        outcomes = {("x", Fault("a", s, level)): {o} for s, o in sizes.items() for level in TABLE["levels"]}
        outcomes["x", Fault("a", 16, "O2")] = {"silent", "at once"}
        self.assertEqual(page.cell(TABLE, outcomes, "x", {"faults": ["a"]}),
                         "damage; 16: silent; 256K–4M: at once")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for folder in ("--programs", "--libraries", "--corpus"):
        parser.add_argument(folder, type=pathlib.Path, required=True)
    options = parser.parse_args()
    PROGRAMS, LIBRARIES, COMPONENTS = (folder.resolve() for folder in
                                       (options.programs, options.libraries, options.corpus))
    unittest.main(argv=[__file__])
