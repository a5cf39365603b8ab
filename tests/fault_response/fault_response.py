#!/usr/bin/env python3
"""What follows a fault, and where it is told: ASHLAR_FAULT, ASHLAR_FAULT_FORMAT, ASHLAR_FAULT_FILE, ashlar_on_fault.

usage: fault_response.py PROGRAM [LIBRARY]      PROGRAM is faulty.cpp, built; LIBRARY is preloaded
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, PRELOAD = "", ""
SECONDS = 60
FAULT = re.compile(r"^ashlar: (\S[^\n(]*)\((0x[0-9a-f]+)\): ", re.MULTILINE)
LEVELS = {"default": {}, "checked": {"ASHLAR_CHECK": "1"}, "full": {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_GUARD": "0"},
          "guarded": {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_GUARD": "1"}}


def run(mode, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASHLAR_")}
    environment |= {"LD_PRELOAD": PRELOAD} if PRELOAD else {}
    return subprocess.run([PROGRAM, mode], capture_output=True, text=True, timeout=SECONDS,
                          env=environment | variables)


class Response(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ends_well(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("WRONG", done.stdout, done.stderr)

    def test_abort_is_the_default(self):
        for variables in ({}, {"ASHLAR_FAULT": "abort"}):
            done = run("all", **variables)
            self.assertEqual(done.returncode, -signal.SIGABRT)
            self.assertEqual(len(FAULT.findall(done.stderr)), 1, done.stderr)

    def test_trap_is_a_trap_after_the_line(self):
        done = run("all", ASHLAR_FAULT="trap")
        self.assertIn(done.returncode, (-signal.SIGILL, -signal.SIGTRAP), done.stderr)
        self.assertEqual(len(FAULT.findall(done.stderr)), 1, done.stderr)

    def test_continue_drops_each_mistake(self):
        for level, variables in LEVELS.items():
            with self.subTest(level):
                done = run("all", ASHLAR_FAULT="continue", **variables)
                self.ends_well(done)
                self.assertEqual(len(FAULT.findall(done.stderr)), 8, done.stderr)

    def test_continue_drops_what_is_found_in_batches(self):
        for level in ("default", "checked"):
            with self.subTest(level):
                done = run("batches", ASHLAR_FAULT="continue", **LEVELS[level])
                self.ends_well(done)
                self.assertEqual(len(FAULT.findall(done.stderr)), 10, done.stderr)

    def test_continue_leaves_spoilt_blocks_out_of_use(self):
        done = run("full", ASHLAR_FAULT="continue", ASHLAR_CHECK_QUEUE_BYTES="1000", **LEVELS["full"])
        self.ends_well(done)
        found = [line.split("): ")[1].split(",")[0] for line in done.stderr.splitlines() if FAULT.match(line)]
        self.assertEqual(sorted(found), sorted([
            "bytes behind the block were overwritten", "the block is free already (double free)",
            "the block was written to after it was freed", "bytes before the block were overwritten"]), done.stderr)

    def test_a_refused_access_cannot_go_on(self):
        done = run("full", ASHLAR_FAULT="continue", **LEVELS["guarded"])
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)

    def test_a_callback_may_allocate_and_goes_on(self):
        for level, variables in LEVELS.items():
            with self.subTest(level):
                done = run("callback", **variables)
                self.ends_well(done)
                self.assertIn("called 8 times", done.stdout)
                self.assertIn("double_free by ", done.stdout)
                self.assertIn("goes on: 1, the block is free already", done.stdout)
                self.assertEqual(len(FAULT.findall(done.stderr)), 8, "each is reported, too\n" + done.stderr)

    def test_a_callback_may_allocate_in_the_middle_of_a_batch(self):
        done = run("callback_in_batch")
        self.ends_well(done)
        self.assertIn("called: yes", done.stdout)

    def test_a_hardened_process_ends_and_its_callback_knows(self):
        done = run("inside_a_block", ASHLAR_HARDEN="1")
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        self.assertRegex(done.stdout, r"^interior_pointer by \S+, goes on: 0, [^\n]*\n$")
        self.assertEqual(len(FAULT.findall(done.stderr)), 1, done.stderr)

    def test_a_fault_inside_the_callback_is_the_last(self):
        done = run("nested")
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, "called\n"), done.stderr)
        self.assertEqual(len(FAULT.findall(done.stderr)), 2, done.stderr)

    def test_callback_without_a_function_aborts(self):
        self.assertEqual(run("all", ASHLAR_FAULT="callback").returncode, -signal.SIGABRT)

    def test_the_call_is_as_documented_and_overrides_the_environment(self):
        done = run("arguments", ASHLAR_FAULT="trap")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("as documented\nthe heap is whole\n", done.stdout)

    def test_json_is_a_line_beside_the_text(self):
        for level, variables in LEVELS.items():
            with self.subTest(level):
                done = run("all", ASHLAR_FAULT="continue", ASHLAR_FAULT_FORMAT="json", **variables)
                found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
                texts = FAULT.findall(done.stderr)
                self.assertEqual([(f["call"], f["address"]) for f in found], texts, done.stderr)
                self.assertEqual({f["ashlar"] for f in found}, {"fault"})
                self.assertEqual({f["action"] for f in found}, {"continue"})
                self.assertIn("double_free", {f["kind"] for f in found})
                if level in ("full", "guarded"):
                    twice = next(f for f in found if f["kind"] == "double_free")
                    self.assertEqual(twice["size"], 64)
                    foreign = next(f for f in found if f["kind"] == "foreign_pointer")
                    for deed in (twice["found"], twice["allocated"], twice["freed"], foreign["found"]):
                        self.assertTrue(any(f["file"].endswith(Path(PROGRAM).name) for f in deed["frames"]), deed)

    def test_the_file_gets_what_standard_error_gets(self):
        for form in ("text", "json"):
            done = run("all", ASHLAR_FAULT="continue", ASHLAR_FAULT_FORMAT=form,
                       ASHLAR_FAULT_FILE=f"{self.folder}/{form}.%p")
            [path] = self.folder.glob(f"{form}.*")
            self.assertRegex(path.name, r"\.\d+$")
            lines = path.read_text().splitlines()
            if form == "text":
                self.assertEqual(lines, done.stderr.splitlines())
            else:  # the objects are in one place
                texts = [(json.loads(line)["call"], json.loads(line)["address"]) for line in lines]
                self.assertEqual(texts, FAULT.findall(done.stderr))
                self.assertNotIn("{", done.stderr)
            self.assertEqual(len(lines), 8)

    def test_a_report_is_one_piece_of_the_file(self):
        path = self.folder / "log"
        path.write_text("earlier\n")
        done = run("threads", ASHLAR_FAULT="continue", ASHLAR_FAULT_FORMAT="json", ASHLAR_FAULT_FILE=str(path),
                   ASHLAR_CHECK="full")
        self.ends_well(done)
        first, *lines = path.read_text().splitlines()
        self.assertEqual((first, len(lines)), ("earlier", 200))
        self.assertEqual(len({json.loads(line)["thread"] for line in lines}), 4)

    def test_both_processes_of_a_fork_report(self):
        done = run("forked", ASHLAR_FAULT="continue", ASHLAR_FAULT_FORMAT="json", ASHLAR_FAULT_FILE=f"{self.folder}/%p")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("child ended with 0", done.stdout)
        pids = {path.name for path in self.folder.iterdir()}
        self.assertEqual(pids, set(re.findall(r"\d+", done.stdout.split(",")[0])))
        for path in self.folder.iterdir():
            self.assertEqual(str(json.loads(path.read_text())["pid"]), path.name)

    def test_nothing_is_lost_with_closed_standard_error(self):
        path = self.folder / "log"
        for mode in ("closed", "broken_pipe"):
            done = run(mode, ASHLAR_FAULT="continue", ASHLAR_FAULT_FILE=str(path))
            self.assertEqual((done.returncode, done.stdout), (0, "went on\n"), mode)
            self.assertEqual(len(FAULT.findall(path.read_text())), 1, mode)
            path.unlink()
        self.assertEqual(run("closed").returncode, -signal.SIGABRT)
        self.assertEqual(run("broken_pipe").returncode, -signal.SIGABRT, "no SIGPIPE")

    def test_a_full_pipe_does_not_hang(self):
        path = self.folder / "log"
        begun = time.monotonic()
        done = run("full_pipe", ASHLAR_FAULT="continue", ASHLAR_FAULT_FILE=str(path))
        self.assertEqual((done.returncode, done.stdout), (0, "went on\n"))
        self.assertEqual(run("full_pipe").returncode, -signal.SIGABRT)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual(len(FAULT.findall(path.read_text())), 1)

    def test_a_file_that_cannot_be_written_is_named_once(self):
        os.mkfifo(self.folder / "pipe")
        for path in ("/proc/no/such/place", str(self.folder / "pipe"), "/dev/full"):
            done = run("all", ASHLAR_FAULT="continue", ASHLAR_FAULT_FILE=path)
            self.ends_well(done)
            self.assertEqual(done.stderr.count(f"ashlar: cannot write {path} (ASHLAR_FAULT_FILE): error "), 1, done.stderr)
            self.assertEqual(len(FAULT.findall(done.stderr.replace("(ASHLAR_FAULT_FILE)", ""))), 8, done.stderr)
            done = run("all", ASHLAR_FAULT="continue", ASHLAR_FAULT_FILE=path, ASHLAR_FAULT_FORMAT="json")
            self.assertEqual(done.stderr.count('{"ashlar": "fault"'), 8, "and what it would have had is not lost")

    def test_wrong_values_are_named_with_the_right_ones(self):
        done = run("none", ASHLAR_FAULT="stop", ASHLAR_FAULT_FORMAT="xml", ASHLAR_FAULT_FILE="x" * 2000)
        self.ends_well(done)
        self.assertEqual(done.stderr.splitlines()[:2], [
            "ashlar: ASHLAR_FAULT=stop is ignored: expected abort, continue, trap or callback",
            "ashlar: ASHLAR_FAULT_FORMAT=xml is ignored: expected text, json or json-only"])
        self.assertEqual(len(done.stderr.splitlines()), 3)
        done = run("all", ASHLAR_FAULT="stop")
        self.assertEqual(done.returncode, -signal.SIGABRT, "the default stands")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        PRELOAD = sys.argv.pop(1)
    unittest.main()
