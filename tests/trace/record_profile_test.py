#!/usr/bin/env python3
"""ashlar record --profile as a user meets it: what a program is known to do is what its profile says.

Given: command; calls, a program; quarter_blocks, how many it takes in a quarter of its run.
"""
import os
import re
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main  # pylint: disable=wrong-import-position
from processes import read, wait_until  # pylint: disable=wrong-import-position

CALLS = GIVEN["calls"]


def of_size(profile, size):
    """The births and deaths of the requests that need as much as this one."""
    found = next((row for row in profile["sizes"] if row["size"] >= size), {"births": 0, "deaths": 0, "size": 0})
    return (found["births"], found["deaths"]) if found["size"] < size * 1.07 else (0, 0)


class RecordProfile(CommandInFolder):
    def record(self, program, options="", **more):
        return self.ashlar(f"record --profile {options} -- {CALLS} {program}", **more)

    def profile(self, name="run.aprof"):
        return self.ashlar("report --text --json --rows 10000", name).json()

    def written_while_running(self, program):
        process = self.start(f"record --profile=1 -- {CALLS} {program}")
        return process, wait_until(lambda: os.path.exists(self.path("run.aprof")))

    def test_is_the_profile_of_the_trace(self):
        self.ashlar(f"record -- {CALLS} mixture")
        self.ashlar("tune profile run.atrace -o of-trace.aprof")
        self.record("mixture", err="ashlar: run.aprof: ")
        self.assertEqual(self.files(), ["of-trace.aprof", "run.aprof", "run.atrace"])
        direct, of_trace = found = [self.profile(name) for name in ("run.aprof", "of-trace.aprof")]
        self.assertGreaterEqual(direct["births"], 20_000)
        self.assertGreater(len(direct["sizes"]), 50)
        self.assertGreater(direct["peak"]["blocks"], 900)
        self.assertGreater(direct["nanoseconds"], 0)
        # What does not depend on how fast the program ran.
        for profile in found:
            for name in ("profile", "nanoseconds", "lifetimes"):
                del profile[name]
            for row in profile["heap_sizes"]:
                del row["mean_blocks"], row["mean_bytes"]
        self.assertEqual(direct, of_trace)
        # Of ranges of sizes, the most blocks at once.
        for classes in (1, 4, 12):
            pools = []
            for name in ("run.aprof", "of-trace.aprof"):
                self.ashlar(f"tune --classes {classes} --certificate pools.json {name}")
                pools.append(self.json("pools.json")["classes"])
            self.assertEqual(*pools)

    def test_blocks_that_go_from_thread_to_thread_are_in_order(self):
        # Also on ashlar's heap, which hands what one thread freed to another one soon.
        for on in ("", "--on ashlar"):
            for program in ("crowd", "resizing"):
                self.record(program, on)
                profile = self.profile()
                births, deaths = of_size(profile, 1001)
                self.assertGreaterEqual(births, 100_000)
                self.assertEqual((births - deaths, *(profile[name] for name in ("unknown_deaths", "missing_deaths", "lost"))), (0, 0, 0, 0))

    def test_a_forked_process_has_its_own(self):
        self.record("forks", "-o my.aprof")
        own = self.profile("my.aprof")
        # 500 to 503 are one need.
        self.assertEqual((own["unknown_deaths"], of_size(own, 444)[0], of_size(own, 500)[0]), (0, 1, 0))
        children = set(self.files()) - {"my.aprof"}
        self.assertEqual(len(children), 4)
        for name in children:
            self.assertRegex(name, r"^my\..*\.aprof$")
            child = self.profile(name)
            self.assertEqual((child["unknown_deaths"], of_size(child, 500)), (1, (1, 1)))  # the block that it was born with

    def test_a_killed_programs_has_all_that_it_did(self):
        self.record("kill", status=-signal.SIGKILL)
        profile = self.profile()
        self.assertGreaterEqual(profile["births"], 50_001)
        births, deaths = of_size(profile, 777)
        self.assertEqual((births - deaths, profile["unfinished_runs"]), (1, 0))

    def test_what_a_program_executes_goes_on_in_it(self):
        self.record("exec many")
        self.assertEqual(self.files(), ["run.aprof"])
        profile = self.profile()
        births, deaths = of_size(profile, 777)
        self.assertGreater(births, 100)
        self.assertEqual(births, deaths)  # exec was the last death
        self.assertGreaterEqual(profile["births"], 100_001)

    def test_of_a_program_that_allocates_nothing_is_a_run_without_births(self):
        self.record("nothing")
        self.assertEqual(self.files(), ["run.aprof"])
        told = {name: value for name, value in self.profile().items() if value and name not in ("ashlar", "schema", "report", "profile")}
        self.assertEqual(told, {"runs": 1, "peak": {"blocks": 0, "bytes": 0}})

    def test_is_written_while_the_program_runs(self):
        process, was_written = self.written_while_running("wait")
        self.assertTrue(was_written)
        self.assertEqual(self.read("out"), "ready\n")
        os.rename(self.path("run.aprof"), self.path("running.aprof"))
        process.send_signal(signal.SIGINT)
        self.finish(process, -signal.SIGINT)
        running = self.profile("running.aprof")
        # Though the thread's chunk is nearly empty.
        self.assertEqual((running["unfinished_runs"], of_size(running, 777)[0], self.profile()["unfinished_runs"]), (1, 1, 0))
        self.assertEqual(self.files(), ["run.aprof", "running.aprof"])

    def test_a_recorder_that_is_killed_leaves_the_last_snapshot(self):
        process, was_written = self.written_while_running("endless")
        process.kill()
        process.wait()
        program = int(self.read("out"))
        self.assertGreater(program, 1)
        os.kill(program, signal.SIGKILL)
        self.assertTrue(was_written)
        self.assertGreater(self.profile()["births"], 10_000)

    def test_memory_does_not_grow_with_the_run(self):
        process = self.start(f"record --profile=1 -- {CALLS} quarters {GIVEN['quarter_blocks']}")

        def own_memory_after(quarter):
            """Of the command's memory, what is not shared with the program, in KiB."""
            self.assertTrue(wait_until(lambda: f"{quarter}\n" in self.read("out") or process.poll() is not None, 500))
            return int(re.search(r"RssAnon:\s*(\d+)", read(f"/proc/{process.pid}/status"))[1])

        at_first, at_last = own_memory_after(1), own_memory_after(4)
        process.send_signal(signal.SIGINT)
        self.finish(process, -signal.SIGINT)
        self.assertGreater(at_first, 0)
        # What a snapshot takes may come between, but not a byte for each event.
        self.assertLess(at_last, at_first + 2048)
        self.assertGreaterEqual(self.profile()["births"], 4 * int(GIVEN["quarter_blocks"]))
        self.assertEqual(self.profile()["unknown_deaths"], 0)

    def test_threads_that_end_leave_nothing_behind(self):
        """More than there are chunks."""
        self.record("failures 9000")
        profile = self.profile()
        self.assertEqual(profile["lost"], 0)
        self.assertGreaterEqual(profile["births"], 9000)
        self.assertLess(profile["births"] - profile["deaths"], 100)

    def test_refuses_what_cannot_be(self):
        self.write("notes.txt", "precious")
        for options, why in (("--profile -o notes.txt", "'notes.txt' is there and is no profile"), ("--profile -o /nowhere/run.aprof", "/nowhere"),
                             ("--profile=0", "--profile"), ("--profile=soon", "--profile"), ("--profile --stacks", "--stacks")):
            self.refused(why, f"record {options} -- {CALLS}")
        self.assertEqual(self.read("notes.txt"), "precious")
        for _ in range(2):  # a profile is replaced
            self.record("")
        self.assertEqual(self.files(), ["notes.txt", "run.aprof"])


if __name__ == "__main__":
    main()
