#!/usr/bin/env python3
"""What a program has in memory, as a user meets it: the first screen adds up to it, and says what is not malloc's.

Given: command, held_otherwise: a program.
"""
import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main  # pylint: disable=wrong-import-position
from processes import read, wait_until  # pylint: disable=wrong-import-position

PROGRAM = GIVEN["held_otherwise"]
MIB = 1 << 20


def row(memory, begin):
    return next((each["bytes"] for each in memory["rows"] if each["name"].startswith(begin)), 0)


def unseen(memory):
    """What a row may lack of the memory that was written last: of the looks that saw nearly as much as the most, the first is
    shown (resident_counter)."""
    return memory["peak_bytes"] // 64


def limited_group(limit):
    """Returns: the folder of a new control group below (version 1) or beside (version 2) the one that this process is in; None
    where none can be made."""
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in read("/proc/self/cgroup").splitlines())}
    # A group of version 2 that has processes gives its children no limits.
    for parent, name in (("/sys/fs/cgroup/memory" + own.get("memory", ""), "memory.limit_in_bytes"),
                         (os.path.dirname("/sys/fs/cgroup" + own.get("", "")), "memory.max")):
        group = pathlib.Path(parent, f"ashlar-test-{os.getpid()}")
        try:
            group.mkdir()
            (group / name).write_text(str(limit), "ascii")
            return group
        except OSError:
            is_removed(group)
    return None


def is_removed(group):
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def crc_32c(data):
    rest = 0xffffffff
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82f63b78 if rest & 1 else 0)
    return rest ^ 0xffffffff


class Memory(CommandInFolder):
    def near(self, found, wanted, by, unseen_bytes=0):
        self.assertTrue(wanted - by - unseen_bytes <= found <= wanted + by, (found, wanted, by, unseen_bytes))

    def report(self, trace="run.atrace"):
        return self.ashlar("report --text --json", trace).json()

    def memory(self, what=None, options="--no-stacks", status=0, trace="run.atrace"):
        """Of a recording that is made, or is there. The rows add up to the peak."""
        if what:
            self.ashlar(f"record {options} -- {PROGRAM} {what}", status=status)
        memory = self.report(trace)["memory"]
        self.assertEqual(sum(each["bytes"] for each in memory["rows"]), memory["peak_bytes"])
        return memory

    def says_of(self, *parts, trace="run.atrace"):
        return self.ashlar("report --text", trace, out=parts).out

    def test_that_the_program_maps_by_itself_is_not_mallocs(self):
        memory = self.memory("mapped")
        self.near(memory["peak_bytes"], 204 * MIB, 8 * MIB)
        self.near(row(memory, "blocks of malloc"), MIB, MIB // 4)
        self.near(row(memory, "anonymous memory"), 200 * MIB, MIB, unseen(memory))
        self.near(memory["live_bytes"], MIB, MIB // 4)
        self.has(memory["remedy"], "a recording with stacks names the lines")
        text = self.says_of("\n  peak RSS 20", f"{row(memory, 'anonymous memory') / MIB:.1f} MiB", "  events ")
        self.assertLess(text.index("peak RSS"), text.index("  events "))

    def test_that_the_program_maps_by_itself_is_by_line(self):
        """With stacks, the lines that mapped it are named. What was given back is not there."""
        memory = self.memory("moved", "")
        each, = (row for row in memory["rows"] if row["name"].startswith("anonymous"))
        grow, mapped = each["parts"]
        self.assertTrue(grow["name"].startswith("grow") and mapped["name"].startswith("map"), each)
        self.near(grow["bytes"], 64 * MIB, MIB)
        self.near(mapped["bytes"], 16 * MIB, MIB, unseen(memory))
        self.assertEqual(memory["remedy"], "")  # the lines say it
        self.says_of("%    grow at held_otherwise.c:")

    def test_that_is_shared_or_static_is_told_apart(self):
        """What is shared has its line. The stack for signals, which the system alone knows, is not lost."""
        memory = self.memory("signals", "")
        self.near(row(memory, "static data"), 20 * MIB, MIB, unseen(memory))
        shared, = (row for row in memory["rows"] if row["name"] == "shared memory")
        self.near(shared["bytes"], 30 * MIB, MIB, unseen(memory))
        self.has(shared["parts"][0]["name"], " by main at held_otherwise.c:")
        self.says_of("lost at exit: nothing")

    def test_of_a_segment_of_system_v_has_its_line(self):
        shared, = (row for row in self.memory("segments", "")["rows"] if row["name"] == "shared memory")
        self.near(shared["bytes"], 30 * MIB, MIB)
        self.says_of("attach at held_otherwise.c:")

    def test_of_the_recorder_is_not_the_programs(self):
        """What it knows of thousands of call sites is its own."""
        memory = self.memory("ways", "")
        self.assertLess(row(memory, "anonymous memory"), MIB // 2)
        self.assertGreater(row(memory, "the recorder"), 4 * MIB)

    def test_is_of_the_program_that_ran_at_the_peak(self):
        """Before it executed a smaller one, or after. What is held at the end is the last one's."""
        smaller = shutil.copy(PROGRAM, self.path("smaller"))
        freed = shlex.quote(PROGRAM) + " freed"
        for words, last in (([PROGRAM, "freed", smaller], shlex.quote(smaller) + " shown"), (["/bin/sh", "-c", f"exec {freed}"], freed)):
            self.ashlar("record -o run.atrace --", *words, err=f"run.atrace: {freed}"[:80])
            self.has(self.ashlar("leaks --trace run.atrace").out, f"ashlar: {last}"[:80])

    def test_that_nobody_touches_is_not_in_memory(self):
        memory = self.memory("untouched")
        self.assertLess(memory["peak_bytes"], 16 * MIB)
        self.near(memory["live_bytes"], 801 * MIB, MIB)
        self.near(row(memory, "blocks of malloc"), MIB, MIB)
        self.says_of("that lived then, 800.0 MiB were untouched so far, or in swap")

    def test_that_is_freed_and_resident_is_mallocs_beyond_its_blocks(self):
        memory = self.memory("freed")
        self.near(row(memory, "blocks of malloc") + row(memory, "malloc beyond"), 64 * MIB, 3 * MIB)
        self.assertLess(row(memory, "anonymous memory"), MIB)
        self.assertEqual(memory["remedy"], "")

    def test_of_a_plain_program_is_its_files(self):
        memory = self.memory("shown")
        self.assertLess(memory["peak_bytes"], 16 * MIB)
        self.assertGreater(row(memory, "files"), MIB // 2)
        self.assertGreater(row(memory, "stacks"), 0)
        self.assertGreater(row(memory, "the recorder"), 0)
        self.assertEqual(memory["remedy"], "")

    def test_of_a_forked_process_is_its_own(self):
        self.ashlar(f"record -o run.atree -- {PROGRAM} fork")
        one, other = sorted(row(self.memory(trace=f"run.atree/{name}"), "anonymous memory")
                            for name in os.listdir(self.path("run.atree")) if name.endswith(".atrace"))
        self.near(one, 20 * MIB, MIB)
        self.near(other, 61 * MIB, 2 * MIB)  # a block of its parent's is not known to be malloc's

    def test_of_a_tree_has_what_processes_share_once(self):
        self.ashlar(f"record -o run.atree -- {PROGRAM} shared")
        together = self.report("run.atree")["tree"]["memory_together"]
        self.assertEqual(together["processes"], 3)
        self.near(together["resident_bytes"], 3 * 40 * MIB + 2 * 10 * MIB, 12 * MIB)
        self.near(together["proportional_bytes"], 40 * MIB + 2 * 10 * MIB, 8 * MIB)
        self.says_of(" MiB of 3 processes together, at ", trace="run.atree")
        self.ashlar(f"record -o run.atree -- {PROGRAM} killed", status=-signal.SIGKILL)
        self.lacks(self.says_of(trace="run.atree"), "PSS")

    def test_of_a_program_that_is_killed_was_seen_before(self):
        self.near(row(self.memory("killed", "", -signal.SIGKILL), "anonymous memory"), 50 * MIB, MIB)

    def test_is_the_first_line_of_leaks_too(self):
        """With a look for pointers at the end and without."""
        for options in ("leaks", "leaks --all"):
            said = self.ashlar(f"{options} -- {PROGRAM} mapped", err="anonymous memory beside malloc").err
            self.assertTrue(said.startswith("ashlar: peak RSS 20"), said)

    def test_of_python_says_what_shows_its_objects(self):
        """Where Python asks malloc, however it was told to, there is nothing to say."""
        python = shutil.copy(PROGRAM, self.path("python3.11"))
        self.ashlar(f"record -- {python} mapped", err="PYTHONMALLOC=malloc in the environment")
        self.lacks(self.ashlar(f"record -- {python} freed").err, "PYTHONMALLOC")

    def test_is_beside_what_the_control_group_may_have(self):
        group = limited_group(512 * MIB)
        if not group:
            self.skipTest("no control group can be made here")
        # The system may need a moment after the last process has ended.
        self.addCleanup(wait_until, lambda: is_removed(group), 1)
        self.ashlar(f"record -- {PROGRAM} mapped", before=lambda: pathlib.Path(group, "cgroup.procs").write_text("0", "ascii"))
        self.assertEqual(self.report()["memory"]["limit_bytes"], 512 * MIB)
        self.says_of(" MiB of 512.0 MiB that the control group may have")

    def test_of_a_trace_from_before_is_said_to_be_unknown(self):
        self.write("text", "ashlar-trace-text 1\nheader program /bin/program\nheader pid 17\n1 1 malloc 0x1000 64\n")
        self.ashlar("export --from-text text -o old.atrace")
        trace = bytearray(pathlib.Path(self.path("old.atrace")).read_bytes())
        # Version 5: the same, but for the number and the checksum of the header.
        trace[8:12] = struct.pack("<I", 5)
        end = 16 + struct.unpack("<I", trace[12:16])[0]
        trace[end:end + 4] = struct.pack("<I", crc_32c(trace[:end]))
        pathlib.Path(self.path("old.atrace")).write_bytes(trace)
        report = self.report("old.atrace")
        self.assertEqual((report["memory"], report["births"]), (None, 1))
        self.says_of("resident memory was not recorded", trace="old.atrace")

    def test_of_a_page_is_in_its_data(self):
        self.ashlar(f"record -- {PROGRAM} mapped")
        self.ashlar("report --json=page.json run.atrace")
        memory = self.json("page.json")["memory"]
        self.assertEqual(sum(each["bytes"] for each in memory["rows"]), memory["peak_bytes"])
        self.assertTrue(memory["over_time"]["seconds"])


if __name__ == "__main__":
    main()
