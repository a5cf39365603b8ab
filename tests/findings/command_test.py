#!/usr/bin/env python3
"""`ashlar report --text` as a user meets it: what it prints and writes, and what it says of input that is none.

Given: command; programs, the folder of the planted and the clean ones, whose sources are beside this file.
"""
import ctypes
import json
import os
import shlex
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main  # pylint: disable=wrong-import-position

PR_SET_THP_DISABLE = 41


def line_of(code, source):
    """The line of a source of planted programs that has the code."""
    with open(os.path.join(os.path.dirname(__file__), source), encoding="utf-8") as text:
        return next(number for number, line in enumerate(text, 1) if code in line)


def place_of(code, source="planted.cpp"):
    return f"{source}:{line_of(code, source)}"


class Findings(CommandInFolder):
    def record(self, name, of="planted_cpp", **options):
        self.ashlar(f"record --stacks -o run.atrace -- {GIVEN['programs']}/{of} {name}", **options)

    def reported(self, options="--text"):
        return self.ashlar(f"report {options} run.atrace").out

    def first_screen(self):
        return "".join(self.reported().splitlines(keepends=True)[:25])

    def in_order(self, text, *parts):
        """Returns: the text from each part to the next."""
        self.has(text, *parts)
        places = [text.index(part) for part in parts]
        self.assertEqual(places, sorted(places), text)
        return [text[begin:end] for begin, end in zip(places, places[1:] + [len(text)])]

    def test_the_first_screen_has_the_answer(self):
        """What a reader sees without scrolling: the memory, what holds it, and what to change."""
        self.record("pins_log_notes", "planted_c")
        screen = self.first_screen()
        _, largest, pins = self.in_order(screen, "\n  peak RSS ", "\n  largest at the peak of ",
                                         "\n  1. Few blocks that keep many pages: saves up to 5.")
        self.has(largest, " at planted.c:")
        self.has(pins, " at planted.c:", ": Let these blocks lie together, in a pool")
        self.in_order(self.reported(), "1. Few blocks", "\n  events  ")
        self.assertLessEqual(max(len(line.encode()) for line in screen.splitlines()), 100, screen)

    def test_what_ashlar_would_pin_is_what_it_pins(self):
        """Blocks that are placed again, beside a recording of the same program on ashlar itself."""
        def pins(options):
            found = json.loads(self.reported(f"--text --json {options}"))
            return [(f["site"]["source"], f["bytes_saved_after_peak"]) for f in found["findings"]["findings"]
                    if f["kind"] == "pins"]
        for name in "pins_same_class", "pins_log_notes", "pins_helper", "pins_sessions":
            self.record(name, "planted_c")
            as_recorded, placed = pins(""), pins("--on-ashlar")
            self.ashlar(f"record --on ashlar -o run.atrace -- {GIVEN['programs']}/planted_c {name}")
            self.assertEqual(placed, pins(""))
            self.assertEqual(pins("--on-ashlar"), placed)
            self.assertEqual(len(as_recorded), 1)
            self.assertEqual(len(placed), 1 if name == "pins_same_class" else 0)
        self.record("pins_same_class", "planted_c")
        self.has(self.reported("--text --on-ashlar"), "pinned if ashlar's heap placed each block, at ")

    def test_a_leak_is_first_and_a_launcher_hides_nothing(self):
        line = shlex.quote(GIVEN["programs"] + "/planted_c") + " leak_requests"
        self.ashlar("record --stacks -o run.atrace -- /bin/sh -c", f"exec {line}")
        screen = self.first_screen()
        self.has(screen, f"{os.path.basename(line)}\n", "\n  1. Memory that is never freed: saves up to 2",
                 "     name_of at " + place_of("planted: leak", "planted.c") + ": Free these blocks")
        self.lacks(screen.partition("\n  events ")[0], " 0 B ")  # what held nothing is no holder
        self.reported("--json=found.json")  # the page has it, too
        self.assertEqual(self.json("found.json")["findings"]["findings"][0]["kind"], "leak")

    def test_are_for_other_readers_too(self):
        """What the schema of SARIF 2.1.0 requires: a version, runs with a tool's name, messages with text."""
        self.record("slack_records", "planted_c")
        line = line_of("malloc(sizeof *r)); /* planted: slack */", "planted.c")
        self.reported("--for sarif=found.sarif")
        log = self.json("found.sarif")
        run, = log["runs"]
        result, = run["results"]
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual((log["version"], run["tool"]["driver"]["name"], result["ruleId"], result["level"], place["region"]["startLine"]),
                         ("2.1.0", "ashlar", "slack", "note", line))
        self.has(result["message"]["text"], ": saves up to ")
        self.assertRegex(place["artifactLocation"]["uri"], r"^file:///.*/planted\.c$")
        annotations = self.reported("--for=github")
        self.assertTrue(annotations.startswith("::notice file="), annotations)
        self.has(annotations, f"/planted.c,line={line},title=ashlar slack::")
        self.has(self.reported("--for=junit"), 'tests="1" failures="0"')
        # What github-action-benchmark demands of each: a name, a unit, a number.
        for _ in range(2):  # it is replaced as any other output
            self.reported("--for benchmark=found.json")
        values = self.json("found.json")
        self.assertGreaterEqual(len(values), 4, values)
        for value in values:
            self.assertTrue(value["name"].startswith("planted_c: ") and isinstance(value["unit"], str), value)
            self.assertTrue(isinstance(value["value"], (int, float)) and ("held" in value["name"] or value["value"] > 0), value)
        self.ashlar("report --for=benchmark -o page.html run.atrace", status=2)
        self.ashlar("leaks --trace run.atrace --for sarif=held.sarif")
        held = self.json("held.sarif")["runs"][0]["results"][0]
        self.assertEqual((held["ruleId"], held["locations"][0]["physicalLocation"]["region"]["startLine"]), ("unreachable", line))

    def test_name_the_line_the_cost_and_the_remedy(self):
        self.record("several_index")
        text = self.reported("--text --json=found.json")
        self.has(text, "\n  3 findings in ", "1. Blocks that live for a moment: saves up to 29,999 allocations, ",
                 place_of("std::to_string(t->word);") + ", through std::operator+", "Seen: 30,000 of 30,000 blocks",
                 "With the standard library:\n     std::string key;",
                 "\nTimes are estimates. In a replay of the first ")  # the time is that of a replay, so it is of this machine
        found = self.json("found.json")["findings"]
        self.assertEqual(len(found["findings"]), 3)
        first, times = found["findings"][0], found["times"]
        self.assertEqual([first["kind"], first["sure"], first["allocations_saved"], first["site"]["function"]],
                         ["short_lived", "seen", 29_999, "several_index::several_index"])
        self.assertGreater(times["calls"], 30_000)
        self.assertGreater(times["allocate_ns"], 0)
        self.assertGreater(times["free_ns"], 0)
        self.assertAlmostEqual(first["milliseconds_saved"], 29_999 * (times["allocate_ns"] + times["free_ns"]) / 1e6, delta=1e-6)
        self.has(text, first["remedy"][:40])
        # Code stands once for each kind, and fewer rows say how many there are.
        self.has(self.reported("--text --rows 1"), "\n2 more (--rows 3 lists them)\n")

    @unittest.skipUnless(os.access("/proc/self/pagemap", os.R_OK), "the system does not tell")
    def test_what_nobody_touches_is_told_as_address_space(self):
        # A huge page brings memory that nobody touched.
        self.record("untouched_reserve", before=lambda: ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
        self.has(self.reported("--text --json=found.json"), "Large blocks that are mostly never touched: saves up to 31.",
                 " MiB of address space at the peak\n", place_of("log.reserve(32u << 20);") + ", through std::", "Seen: 1 of 1 block was looked at")
        found, = self.json("found.json")["findings"]["findings"]
        self.assertEqual((found["kind"], found["bytes_saved_at_peak"]), ("untouched", 0))
        self.assertGreater(found["address_space_saved_at_peak"], 31 << 20)
        self.reported("--json=page.json")  # the page has the same
        self.assertEqual(self.json("page.json")["findings"]["findings"], [found])

    def test_a_clean_program_has_none(self):
        self.record("matrices", "clean_cpp")
        self.has(self.reported(), "\n  no findings in ")

    def test_without_stacks_and_without_a_trace_one_line_says_what_helps(self):
        self.ashlar("record --no-stacks -o run.atrace -- /bin/true")
        self.has(self.first_screen(), "\n  no call stacks, so no line can be named: record without --no-stacks")
        self.ashlar("report --text /bin/true", status=2, err="/bin/true")
        self.ashlar("report --text --json=nonesuch/found.json run.atrace", status=2, err="nonesuch/found.json")


if __name__ == "__main__":
    main()
