#!/usr/bin/env python3
"""Shows that malloc_matrix.py sees what it is there to see: each outcome, a detection that is lost or won, a page that
is stale; and that the compiler removes no fault from malloc_faults.c, at -O0 and at -O2.

Run: malloc_matrix_bites.py --programs DIR --libraries DIR, as malloc_matrix.py. Ends with 1 if something is not seen.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import malloc_cells
import malloc_matrix
import malloc_record
from malloc_cells import Allocator, Fault, judge, measure_all

PROGRAMS = pathlib.Path()
LIBRARIES = pathlib.Path()
TABLE = malloc_cells.load()
NAMES = list(dict.fromkeys(f.name for f in malloc_cells.faults(TABLE)))


def drop_in(**environment: str) -> Allocator:
    return Allocator("ashlar", str(LIBRARIES / "libashlar-malloc.so"), tuple(environment.items()),
                     says="ashlar: ")


class Outcomes(unittest.TestCase):
    def test_each_outcome(self):
        ended = "| next 0xa0\n| back \n"
        for outcome, said, code in (
                ("at once", "| next 0xa0\nfree(): invalid pointer\n", -6),
                ("at once", "| next 0xa0\n", -6),
                ("at once", "| next 0xa0\na message\n| back \n| ended \n", 0),
                ("stopped", "| next 0xa0\n", -11),
                ("later", ended + "free(): invalid pointer\n", -6),
                ("later", ended + "| ended \na message at the exit\n", 0),
                ("late", ended + "| damage x\nfree(): invalid pointer\n", -6),
                ("damage", ended + "| damage x\n| ended \n", 0),
                ("damage", ended + "| damage x\n", -11),
                ("died", ended, -11),
                ("visible", ended + "| visible x\n| ended \n", 0),
                ("harmless", ended + "| harmless x\n| ended \n", 0),
                ("damage", ended + "| harmless x\n| damage x\n| ended \n", 0),
                ("silent", ended + "| ended \n", 0),
                ("hung", ended, None)):
            self.assertEqual(judge(said, code), outcome, said)

    def test_ashlar_has_to_say_it_itself(self):
        for said, outcome in (("| next 0xa0\nashlar: free(0xa0): x\n", "at once"), ("| next 0xa0\n", "stopped"),
                              ("| next 0xa0\nfree(): invalid pointer\n", "stopped"),
                              ("| next 0xa0\n| back \nassertion failed\n", "died")):
            self.assertEqual(judge(said, -6, "ashlar: "), outcome, said)

    def test_what_is_the_programs_own_fault(self):
        for said, code in (("", 0), ("", -6), ("ERROR: ld.so\n| next 0xa0\n| back \n| ended \n", 0),
                           ("| next 0xa0\n| back \n", 0), ("| next 0xa0\n| broken x\n", 3), ("double_free\n", 2)):
            self.assertEqual(judge(said, code), "broken", said)

    def test_a_run_without_a_fault_has_to_be_silent(self):
        self.assertEqual(malloc_matrix.broken({("x", Fault("none", 16, "O0")): {"silent"}}), [])
        self.assertEqual(len(malloc_matrix.broken({("x", Fault("none", 16, "O0")): {"damage"}})), 1)
        self.assertEqual(len(malloc_matrix.broken({("x", Fault("double_free", 16, "O0")): {"broken"}})), 1)


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
        hardened = dataclasses.replace(drop_in(), library=str(LIBRARIES / "libashlar-malloc-hardened.so"))
        found |= {fault for (_, fault), outcomes in measure_all([hardened], which, PROGRAMS).items()
                  if fault.name.startswith("zero_") and outcomes <= {"at once", "stopped"}}
        self.assertEqual([fault for fault in which if fault not in found], [])

    def test_what_the_program_tells_by_itself(self):
        careless = Allocator("careless", str(PROGRAMS / "libcareless_malloc.so"))
        expected = {"calloc_overflow": "damage", "size_overflow": "damage", "uninitialised_read": "harmless",
                    "next_address": "harmless", "same_offsets": "visible", "double_free": "silent",
                    "overflow_16_store": "damage", "read_freed": "visible", "none": "silent"}
        which = [Fault(name, 64, level) for name in expected for level in TABLE["levels"]]
        for (_, fault), outcomes in measure_all([careless], which, PROGRAMS).items():
            self.assertEqual(outcomes, {expected[fault.name]}, fault)
        which = [Fault(name, 64, level) for name in ("uninitialised_read", "next_address")
                 for level in TABLE["levels"]]
        for (_, fault), outcomes in measure_all([Allocator("glibc")], which, PROGRAMS).items():
            self.assertEqual(outcomes, {"visible"}, fault)

    def test_the_list_is_that_of_the_program(self):
        for level in TABLE["levels"]:
            said, code = malloc_cells.run(Allocator("glibc"), Fault("no such fault", 64, level), PROGRAMS)
            self.assertEqual((sorted(said.split()), code), (sorted(NAMES), 2))


class LostDetections(unittest.TestCase):
    def differences(self, observed: malloc_cells.Outcomes) -> list[str]:
        recorded = malloc_record.read(TABLE)[0]
        return malloc_record.differences({key: recorded[key] for key in observed}, observed)

    def test_a_library_without_its_checks_is_worse(self):
        fault = Fault("overflow_1_store", 64, "O0")
        weaker = measure_all([dataclasses.replace(drop_in(), name="ashlar, CHECK=full")], [fault], PROGRAMS)
        self.assertEqual(self.differences(weaker),
                         ["ashlar, CHECK=full, overflow_1_store, 64 bytes, -O0: worse: recorded later, is damage"])

    def test_one_that_chooses_at_random_is_measured_again_and_may_still_be_worse(self):
        fault = Fault("overflow_1_store", 64, "O0")
        hardened = dataclasses.replace(drop_in(), name="ashlar, hardened", random=True)
        recorded = malloc_record.read(TABLE)[0]
        again = lambda library: malloc_matrix.measured_again(
            [dataclasses.replace(hardened, library=str(LIBRARIES / library))], PROGRAMS, recorded,
            {("ashlar, hardened", fault): {"damage"}})
        self.assertEqual(again("libashlar-malloc.so")["ashlar, hardened", fault], {"damage"})
        self.assertEqual(again("libashlar-malloc-hardened.so")["ashlar, hardened", fault], {"later"})

    def test_more_checks_than_recorded_are_better_and_fail_too(self):
        fault = Fault("overflow_1_store", 64, "O0")
        stronger = drop_in(ASHLAR_CHECK="full", ASHLAR_CHECK_GUARD="0")
        observed = measure_all([stronger], [fault], PROGRAMS)
        self.assertEqual(self.differences(observed),
                         ["ashlar, overflow_1_store, 64 bytes, -O0: better: recorded damage, is later"])

    def test_a_cell_more_or_less(self):
        key = ("x", Fault("double_free", 16, "O0"))
        self.assertIn("was not run", malloc_record.differences({key: {"at once"}}, {})[0])
        self.assertIn("has no record", malloc_record.differences({}, {key: {"at once"}})[0])

    def test_a_setting_of_the_caller_does_not_reach_a_cell(self):
        fault = Fault("overflow_1_store", 64, "O0")
        with unittest.mock.patch.dict(os.environ, {"ASHLAR_CHECK": "full"}):
            observed = measure_all([drop_in()], [fault], PROGRAMS)
        self.assertEqual(observed["ashlar", fault], {"damage"})


class Records(unittest.TestCase):
    def test_the_check_ends_with_1_for_a_lost_cell_and_for_a_stale_page(self):
        recorded = malloc_record.read(TABLE)[0]
        ours = {a["name"] for a in TABLE["ours"]}
        checked = set(malloc_cells.faults_checked(TABLE))
        observed = {key: set(cell) for key, cell in recorded.items() if key[0] in ours and key[1] in checked}

        def status(cells: malloc_cells.Outcomes) -> int:
            with contextlib.redirect_stdout(io.StringIO()):
                return malloc_matrix.check(TABLE, checked, cells)

        self.assertEqual(status(observed), 0)
        lost = next(key for key, cell in observed.items() if cell == {"at once"})
        self.assertEqual(status({**observed, lost: {"silent"}}), 1)
        self.assertEqual(status({key: cell for key, cell in observed.items() if key != lost}), 1)
        with tempfile.NamedTemporaryFile("w", suffix=".md") as copy:
            copy.write(malloc_matrix.PAGE.read_text().replace("**damage**", "at once", 2))
            copy.flush()
            with unittest.mock.patch.object(malloc_matrix, "PAGE", pathlib.Path(copy.name)):
                self.assertEqual(status(observed), 1)

    def test_what_is_written_is_what_is_read(self):
        outcomes, versions = malloc_record.read(TABLE)
        outcomes["glibc", Fault("double_free", 16, "O2")], versions["glibc"] = {"later", "silent"}, "2.36"
        with tempfile.TemporaryDirectory() as folder, \
                unittest.mock.patch.object(malloc_record, "RECORD", pathlib.Path(folder) / "ours.csv"), \
                unittest.mock.patch.object(malloc_record, "PEERS", pathlib.Path(folder) / "peers.csv"):
            malloc_record.write(TABLE, outcomes, versions)
            self.assertEqual(malloc_record.read(TABLE), (outcomes, versions))

    def test_a_peer_that_is_missing_is_not_measured(self):
        fault = Fault("double_free", 16, "O0")
        found = measure_all([Allocator("absent", is_there=False)], [fault], PROGRAMS)
        self.assertEqual(found, {("absent", fault): {"not measured"}})

    def test_a_cell_of_the_table_is_its_worst_and_where_it_is_better(self):
        sizes = {**{s: "damage" for s in TABLE["sizes"]}, 16: "silent", 262144: "at once", 4194304: "at once"}
        outcomes = {("x", Fault("a", s, level)): {o} for s, o in sizes.items() for level in TABLE["levels"]}
        outcomes["x", Fault("a", 16, "O2")] = {"silent", "at once"}
        self.assertEqual(malloc_record.cell(TABLE, outcomes, "x", {"faults": ["a"]}),
                         "**damage**; 16: silent; 256K–4M: at once")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    options = parser.parse_args()
    PROGRAMS, LIBRARIES = options.programs.resolve(), options.libraries.resolve()
    unittest.main(argv=[__file__])
