#!/usr/bin/env python3
"""ashlar replay as a user meets it: traces written here, allocators that are sound or planted, tables and JSON out.

Given: command, planted_malloc; library, empty where the build has no drop-in library.
"""
import json
import os
import random
import shutil
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main, waiting  # pylint: disable=wrong-import-position

PLANTED = GIVEN["planted_malloc"]
# Every kind of call, among them with blocks of the planted size; 9 of those are alive at once, the ninth until the end.
ALL_KINDS = [*(f"1 malloc {0x10000 + i * 0x1000:#x} 777" for i in range(9)), "1 calloc 0x20000 777", "1 aligned 0x21000 777 align=256",
             "1 new 0x22000 300", "1 realloc-from 0x22000", "1 realloc 0x23000 777", "1 malloc 0x24000 0",
             *(f"1 free {0x10000 + i * 0x1000:#x}" for i in range(8)), *(f"1 free {0x20000 + i * 0x1000:#x}" for i in (0, 1, 3, 4))]


class Replay(CommandInFolder):
    def tearDown(self):
        self.left_nothing_behind()

    def write_trace(self, events):
        """Of threads, kinds and what is told of them; a microsecond between each and the next."""
        lines = ["ashlar-trace-text 1", "header program /bin/program", "header arguments program\\00-x\\00", "header ticks_per_second 1000000"]
        self.write("in", "\n".join(lines + [f"{time} {event}" for time, event in enumerate(events, 1)]) + "\n")
        self.ashlar("export --from-text - --force -o a.atrace")
        self.write("in", "")

    def outcome(self, events, on, status=0, planted="none", more=""):
        """What --json says of the only target, and as "said" what is printed. No events: those of the last time."""
        if events is not None:
            self.write_trace(events)
        self.environment = {"PLANTED": planted}
        said = self.ashlar("replay a.atrace --on", on, *f"-n 1 --json=replay.json {more}".split(), status=status).out
        return {**self.json("replay.json")["outcomes"][0], "said": said}

    def test_a_sound_allocator_has_no_fault_and_every_figure(self):
        for on in ("system", PLANTED):
            found = self.outcome(ALL_KINDS, on)
            self.assertEqual([found[name] for name in ("operations", "births", "deaths", "threads")], [27, 14, 13, 1])
            for none in ("failures", "corrupted_blocks", "not_zero_blocks", "misaligned_blocks"):
                self.assertEqual(found[none], 0, none)
            self.assertEqual([found["latencies"][call]["calls"] for call in ("malloc", "realloc", "free")], [11, 1, 12])
            self.assertGreater(found["wall_seconds"]["median"], 0)
            self.has(found["said"], "14 births, 13 deaths; 1 thread")

    def test_slack_is_of_the_moment_with_the_most_bytes(self):
        # 10 blocks of 100 bytes, then they die, then one of 50: the peak is 1000 bytes.
        slack = self.outcome([*(f"1 malloc {0x1000 + 256 * i:#x} 100" for i in range(10)), *(f"1 free {0x1000 + 256 * i:#x}" for i in range(10)),
                              "1 malloc 0x1000 50"], "system")["slack"]
        self.assertEqual((slack["requested_bytes"], slack["peak_requested_bytes"]), (1050, 1000))
        self.assertTrue(1000 <= slack["usable_bytes_at_peak"] < 2000, slack)

    def test_an_allocator_without_a_size_of_its_own_has_no_slack(self):
        self.assertNotIn("slack", self.outcome(ALL_KINDS, PLANTED))

    def test_an_allocators_path_may_have_what_the_loader_cannot_be_told(self):
        os.mkdir(self.path("a b:c"))
        self.assertEqual(self.outcome(ALL_KINDS, shutil.copy(PLANTED, self.path("a b:c/planted.so")))["failures"], 0)
        self.ashlar("replay a.atrace --on nosuch.so", status=None, err="--on nosuch.so: there is no library")

    def test_what_a_planted_allocator_does_wrong_is_reported(self):
        self.write_trace(ALL_KINDS)
        for planted, name, times, said in (
                ("corrupt", "corrupted_blocks", 1, "a block of 777 bytes, at operation"), ("null", "failures", 3, "3 requests got no block"),
                ("dirty", "not_zero_blocks", 1, ""), ("crooked", "misaligned_blocks", 1, ""), ("forgets", "corrupted_blocks", 1, "")):
            found = self.outcome(None, PLANTED, 1, planted)
            self.assertEqual(found[name], times, planted)
            self.has(found["said"], said)
            if planted == "null":
                self.assertEqual(found["corrupted_blocks"], 0)
        self.assertGreaterEqual(self.outcome(None, PLANTED, 1, "same")["corrupted_blocks"], 8)
        found = self.outcome(None, PLANTED, 1, "crash")
        self.has(found["worker_failure"], "SIGABRT")
        self.has(found["said"], "the worker failed")

    def test_what_lives_at_the_end_is_checked_too(self):
        found = self.outcome([f"1 malloc {0x1000 + 1024 * i:#x} 777" for i in range(6)], PLANTED, 1, "corrupt")
        self.assertEqual(found["corrupted_blocks"], 1)
        self.has(found["said"], "lives at the end")

    def test_a_hand_over_between_threads_keeps_its_order(self):
        # Thread 1 makes, thread 2 gives back, then thread 3, which begins when thread 2 has ended, does; and blocks of the
        # planted size make the stamps count.
        events = []
        for turn in range(2000):
            address, other = 0x1000 + 4096 * (turn % 50), 2 if turn < 1000 else 3
            events += [f"1 malloc {address:#x} 777", f"{other} realloc-from {address:#x}", f"{other} realloc {address + 1024:#x} 900",
                       f"1 free {address + 1024:#x}", *(["2 thread-exit 0"] if turn == 999 else [])]
        found = self.outcome(events, "system", more="--touch all")
        # One block at a time: every operation waits for the one before.
        self.assertEqual([found[name] for name in ("threads", "operations", "slots")], [3, 8000, 1])
        self.assertGreater(found["waits"]["max"], 0)
        self.has(found["said"], "3 threads, at most 2 at once")

    def test_threads_that_come_and_go_in_any_order(self):
        """Each makes a block that another one gives back, or nobody. More threads are not there at once than the trace had: the
        worker has room for as many."""
        for seed in range(2):
            chance, events, running, blocks, begun = random.Random(seed), [], [], [], 0
            for time in range(1, 1001):
                what = chance.randrange(100)
                if not running or what < 30:
                    running.append(begun := begun + 1)
                chance.shuffle(running)
                if what < 60 or not blocks:
                    blocks.append(0x1000 * time)
                    events.append(f"{running[-1]} malloc {blocks[-1]:#x} 777")
                elif what < 75:
                    events.append(f"{running[-1]} free {blocks.pop():#x}")
                else:
                    events.append(f"{running.pop()} thread-exit 0")
            found = self.outcome(events, "system")
            self.assertEqual(found["births"] - found["deaths"], len(blocks))
            self.assertGreater(found["threads"], 200, seed)
            self.assertEqual(found["corrupted_blocks"], 0)

    def test_all_what_is_installed_is_one_table(self):
        if not GIVEN["library"]:
            self.skipTest("this build has no drop-in library")
        self.write_trace(ALL_KINDS)
        self.ashlar("replay a.atrace --on all -n 2", out=("system", "ashlar", "p99.99"))

    def test_pools_of_the_tuner_have_no_failure_and_no_block_to_spare(self):
        # 8 blocks of 32 bytes and 3 of 100 at once, from two threads; one block that is larger than the pools' largest.
        self.write_trace([*[f"{1 + i % 2} malloc {0x1000 + 256 * i:#x} {32 if i < 8 else 100}" for i in range(11)],
                          *[f"{1 + i // 6} free {0x1000 + 256 * i:#x}" for i in range(11)]] * 3 + ["1 malloc 0x90000 100000"])
        self.ashlar("tune a.atrace --classes 2 --largest 4096 --certificate pools.json")
        found = self.outcome(None, "pools.json")
        self.assertEqual((found["failures"], found["left_out"]), (0, 1))
        # Each target that did less than the others is named, in whatever place.
        for on in ("system,pools.json", "pools.json,system"):
            self.lacks(self.ashlar(f"replay a.atrace --on {on} -n 1", out=("34 births, 33 deaths; 2 threads", "pools.json: 1 requests larger")).out,
                       "system: ")
        pools = self.json("pools.json")
        self.assertEqual([row["peak"] for row in found["classes"]], [8, 3])
        self.assertEqual([row["capacity"] for row in found["classes"]], [row["capacity"] for row in pools["classes"]])

        def outcome_of(changed, status):
            self.write("changed.json", json.dumps({**pools, "classes": changed}))
            return self.outcome(None, "changed.json", status)

        small, large = pools["classes"]
        for classes, failures in (([{**small, "capacity": small["capacity"] - 1}, large], [3, 0]),  # one in each round
                                  ([small, {**large, "capacity": large["capacity"] - 1}], [0, 3])):
            found = outcome_of(classes, 1)
            self.assertEqual((found["failures"], [row["failures"] for row in found["classes"]]), (3, failures))
        found = outcome_of([small], 1)
        self.assertEqual(found["failures"], 9)
        self.has(found["said"], "and 9 requests that fit no class")

    def test_pools_that_there_is_no_memory_for_are_not_said_to_refuse_requests(self):
        self.write_trace([f"1 malloc {0x1000 + i * 16:#x} {1 << 36}" for i in range(4096)])  # 256 TiB
        self.ashlar("tune a.atrace --certificate pools.json")
        found = self.outcome(None, "pools.json", 1)
        self.has(found["worker_failure"], "no memory for pools")
        self.assertEqual(found["failures"], 0)
        self.ashlar("tune verify pools.json", status=2, err="too little memory")

    def test_what_a_trace_cannot_say_is_left_out_and_told(self):
        found = self.outcome(["1 free 0x9000", "1 malloc 0x1000 40", "1 free 0x1000"], "system")
        self.assertEqual((found["unknown_deaths"], found["operations"]), (1, 2))
        self.has(found["said"], "1 deaths of blocks from before the recording: skipped")
        self.assertEqual(self.outcome([], "system")["operations"], 0)

    def test_a_signal_ends_the_reading_of_the_trace(self):
        self.write_trace(ALL_KINDS)
        said = self.ashlar("replay a.atrace --on system --json=replay.json", status=128 + signal.SIGTERM, before=waiting(signal.SIGTERM))
        self.assertEqual((said.out, said.err), ("", "ashlar: ended early by SIGTERM: nothing was measured\n"))
        self.assertEqual(self.files(), ["a.atrace"])

    def test_a_file_that_is_not_written_in_the_end_is_a_failure(self):
        self.write_trace(ALL_KINDS)
        for planted in ("none", "corrupt"):
            self.environment = {"PLANTED": planted}
            self.ashlar(f"replay a.atrace --on {PLANTED} -n 1 --json=/dev/full", status=1, err="cannot write '/dev/full'", out="14 births")

    def test_a_library_is_not_written_over_but_a_file_of_an_allocators_name_is(self):
        self.write_trace(ALL_KINDS)
        library = shutil.copy(PLANTED, self.path("planted.so"))
        self.ashlar(f"replay a.atrace --on mine={library} --json={library}", status=2, err="is an input")
        self.write("system", "of yesterday")
        self.ashlar("replay a.atrace --on system -n 1 --json=system --force")
        self.assertTrue(self.json("system"))

    def test_bad_input_ends_with_two_and_names_the_thing(self):
        self.write_trace(ALL_KINDS)
        self.damage("a.atrace", 0x40, to="damaged.atrace")
        for name, text in (("text.atrace", "hello"), ("empty.atrace", ""), ("no.json", '{"certificate": 1}'), ("kept.json", "before")):
            self.write(name, text)
        for words, named in (("a.atrace --on nonesuch", "--on nonesuch"), ("a.atrace --on ./nonesuch.so", "./nonesuch.so"),
                             (f"a.atrace --on {self.path('text.atrace')}.so", "text.atrace.so"), ("a.atrace --on nonesuch.json", "nonesuch.json"),
                             ("a.atrace --on no.json", "no.json"), ("a.atrace --touch none", "--touch: 'none'"), ("a.atrace -n 0", "--runs"),
                             ("a.atrace --on system --json=none/such.json", "such.json"), ("nonesuch.atrace --on system", "nonesuch.atrace"),
                             ("damaged.atrace --on system", "damaged.atrace: at byte"), ("text.atrace --on system", "text.atrace: at byte"),
                             ("empty.atrace --on system", "empty.atrace: at byte"), ("", "TRACE"),
                             ("damaged.atrace --on system --json=kept.json", "")):
            self.assertEqual(self.ashlar(f"replay {words}", status=2, err=named).out, "")
        self.assertEqual(self.read("kept.json"), "before")


if __name__ == "__main__":
    main()
