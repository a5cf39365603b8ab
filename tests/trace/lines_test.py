#!/usr/bin/env python3
"""Whose line holds the memory: report and leaks on programs with planted leaks, and which blocks no pointer leads to.

Given: command, leak, split_leak, other, lost: programs; drop_in, a library.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, main  # pylint: disable=wrong-import-position
from recordings import Recordings  # pylint: disable=wrong-import-position

LEAK, LOST = GIVEN["leak"], GIVEN["lost"]
LEAK_IN_TEXT = re.escape(LEAK.replace(" ", r"\20"))
REPORT = "report --text run.atrace"


def line_of(comment):
    """Returns: "/file:line" of the line that has this comment."""
    with open(os.path.join(os.path.dirname(__file__), "planted_leak.cpp"), encoding="utf-8") as source:
        return "/planted_leak.cpp:" + str(next(number for number, line in enumerate(source, 1) if f"// line: {comment}" in line))


def site_at(sites, comment):
    """The site whose frames have this line first, or None. The compiler may have been told a relative name."""
    return next((site for site in sites if site["sources"][0].endswith(line_of(comment))), None)


def in_leak(tool):
    """Runs a tool of binutils in the folder, of which {} is the program."""
    return lambda folder: subprocess.run(tool.format(LEAK), shell=True, cwd=folder, check=True)


class Lines(Recordings):
    def record(self, program=LEAK, stacks="--stacks"):
        self.ashlar(f"record {stacks} --", program)

    def stat(self):
        said = self.ashlar("report --text --json --rows 100 run.atrace")
        return {**said.json(), "said": said.err}

    def held(self):
        """Returns: of those of an order, the site."""
        sites = self.stat()["held_at_end"]
        self.assertIsNotNone(site_at(sites, "order"), sites)
        return site_at(sites, "order")

    def test_stat_names_file_and_line_of_inlined_calls_too(self):
        """Of split debug information (-gsplit-dwarf), functions are in a file beside the object, the lines are in the program."""
        for program in (GIVEN["split_leak"], LEAK):
            self.record(program)
            site = self.held()
            self.assertEqual((site["blocks_at_end"], site["births"]), (30, 30))
            self.has(site["frames"][0], "make_order")
            self.assertTrue(site["sources"][1].endswith(line_of("serve")), site)
            self.has(site["frames"][1], "shop::serve(int, bool) in " + os.path.basename(program))
        self.ashlar(REPORT + " --full", out=line_of("deep"))

    def test_stat_begins_with_the_lines_of_the_program(self):
        self.record()
        stat = self.stat()
        self.assertEqual(sum(line["births"] for line in stat["lines"]), stat["births"], "each block is some line's")
        order, = [line for line in stat["lines"] if line["source"].endswith(line_of("order"))]
        self.assertEqual((order["function"], order["births"], order["blocks_at_end"]), ("shop::make_order", 40, 30))
        sizes = "sizes with the most bytes"
        self.assertRegex(self.ashlar(REPORT + " --full --rows 1").out, f"(?s)lines of the program.*{sizes}")
        self.lacks(self.ashlar(REPORT + " --rows 1").out, sizes)
        few = self.ashlar(REPORT + " --json --rows 1").json()["lines"]
        self.assertLess(len(few), len(stat["lines"]))
        for figure in ("bytes_at_peak", "bytes_at_end", "bytes", "births"):
            self.assertEqual(*(max(line[figure] for line in lines) for lines in (few, stat["lines"])), figure)

    def test_the_reports_tree_has_them(self):
        self.record()
        self.assertTrue(any(node["source"].endswith(line_of("order")) and node["blocks_at_end"] == 30
                            for node in self.ashlar("report --json run.atrace").json()["call_sites"]))

    def test_sites_are_sorted_by_bytes(self):
        self.record()
        stat = self.stat()
        for sites, figure in (("call_sites", "bytes_at_peak"), ("held_at_end", "bytes_at_end")):
            figures = [site[figure] for site in stat[sites]]
            self.assertGreater(len(figures), 2)
            self.assertEqual(figures, sorted(figures, reverse=True))

    def test_a_stripped_program_is_named_with_the_remedy(self):
        in_leak("strip -o stripped '{}'")(self.folder)
        self.record(self.path("stripped"))
        self.ashlar(REPORT, err="stripped (compile it with -g)")

    def test_debug_information_may_be_elsewhere(self):
        """It needs no table of address ranges, as clang writes it, and may be in another file."""
        for tool in ("objcopy --remove-section=.debug_aranges '{}' program",
                     "objcopy --only-keep-debug '{0}' apart.debug && strip -o program '{0}' && objcopy --add-gnu-debuglink=apart.debug program"):
            in_leak(tool)(self.folder)
            self.record(self.path("program"))
            self.held()

    def test_of_another_build_at_the_same_path_there_are_offsets_and_one_line(self):
        program = shutil.copy(LEAK, self.path("program"))
        self.record(program)
        self.held()
        os.remove(program)
        shutil.copy(GIVEN["other"], program)
        stat = self.stat()
        sites = str(stat["held_at_end"])
        self.has(sites, "program+0x")
        self.lacks(sites, " in program'")
        told = (f"ashlar: '{program}' is another build than the one that ran, so its calls are offsets: "
                "put that build back, or record again (--symbols keeps the names in the trace)\n")
        self.assertTrue(stat["said"].startswith(told), stat["said"])
        self.lacks(stat["said"][len(told):], "program")
        os.remove(program)
        self.ashlar(REPORT, err="program' is gone, so")

    def test_a_dump_as_text_keeps_build_ids(self):
        self.record()
        text = self.text_of("run.atrace")
        self.write("run.txt", text)
        self.ashlar("export --from-text run.txt -o again.atrace")
        self.assertEqual(self.text_of("again.atrace"), text)
        self.assertRegex(text, LEAK_IN_TEXT + " [0-9a-f]{40}\n")  # of SHA-1

    def test_a_stack_that_was_cut_has_a_root_of_its_own(self):
        cut = "[stack cut at 8 frames]"
        for depth in (8, 64):
            self.record(stacks=f"--stacks={depth}")
            deep = site_at(self.stat()["held_at_end"], "deep")
            self.assertEqual((deep["frames"][-1] == cut, len(deep["frames"]) == 9), (depth == 8, depth == 8), deep)
            nodes = self.ashlar("report --json run.atrace").json()["call_sites"]
            self.assertEqual(any(node["name"] == cut and node["parent"] == 0 for node in nodes), depth == 8)

    def test_check_names_inlined_calls_too(self):
        """One mechanism names the calls of all commands."""
        self.record()
        text = self.text_of("run.atrace")
        begin, end, bias = (int(number, 16) for number in re.search(rf"^module (\S+) (\S+) (\S+) {LEAK_IN_TEXT} ", text, re.MULTILINE).groups())
        frames = [int(frame, 16) for stack in re.findall(r"^stack \d+(.*)", text, re.MULTILINE) for frame in stack.split()]
        self.write("log", "".join(f"ashlar:   #0 {frame:#x} {LEAK}+{frame - bias:#x}\n" for frame in frames if begin <= frame < end))
        told = self.ashlar("check --log log", out="shop::make_order(int) at ").out
        self.assertRegex(told, re.escape("          inlined into shop::serve(int, bool) at ") + f".*{line_of('serve')}\n")

    def test_the_depth_is_a_word_of_its_own_or_not(self):
        for stacks in ("--stacks 3", "--stacks=3"):
            self.record(stacks=stacks)
            self.assertEqual(self.stat()["header"]["options"], "stacks=3")

    def test_a_trace_without_stacks_says_how_to_get_them(self):
        self.record(stacks="--no-stacks")
        self.ashlar(REPORT, out="no call stacks, so no line can be named")

    # ---- leaks

    def test_each_planted_leak_is_listed_with_its_line_the_largest_first(self):
        ended = self.ashlar(f"leaks --json=leaks.json -- {LEAK}", err=("4.9 KiB in 1 block unreachable, of 1 in all\n", line_of("deep") + "\n"))
        process, = self.json("leaks.json")["processes"]
        sites = process["call_sites"]
        self.assertEqual([site["bytes_at_end"] for site in sites], sorted((site["bytes_at_end"] for site in sites), reverse=True))
        deep = site_at(sites, "deep")
        self.assertEqual((deep["bytes_at_end"], deep["blocks_at_end"], site_at(sites, "order")["blocks_at_end"]), (5000, 1, 30))
        self.lacks(ended.err, "      _start in ")
        self.assertEqual(self.files(), ["leaks.json"], "the trace is gone")
        self.ashlar(f"leaks --json=leaks.json --full -- {LEAK}", err="      _start in ")
        self.left_nothing_behind()

    def test_above_the_limit_the_status_is_one_unless_the_program_failed(self):
        for line, status, err in ((f"1MiB -- {LEAK}", 0, ()), (f"4KiB -- {LEAK}", 1, "more than 4.0 KiB (--fail-above)"),
                                  (f"4KiB -- {LEAK} 7", 7, ()), ("0 -- /bin/true", 0, "/bin/true")):
            self.ashlar(f"leaks --fail-above {line}", status=status, err=err)

    def test_a_program_that_a_signal_ends_is_told(self):
        self.ashlar(f"leaks -- {LEAK} 100", status=-signal.SIGABRT, err=("did not end by itself", line_of("order")))

    def test_of_a_trace_that_was_kept(self):
        self.ashlar(f"leaks -o kept.atrace --rows 1 -- {LEAK}", err="more calls (--rows")
        self.ashlar("leaks --trace kept.atrace", out=line_of("deep"))
        self.ashlar("leaks --trace kept.atrace --fail-above 1", status=1)
        self.cut("kept.atrace", 10)
        self.ashlar("leaks --trace kept.atrace", err="the trace ends without its end")
        self.ashlar("leaks --trace leaks.json", status=2)

    def test_processes_that_it_starts_are_listed_on_request(self):
        script = f"'{LEAK}'; '{LEAK}'; true"
        self.lacks(self.ashlar("leaks -- /bin/sh -c", script, err="of 2 more processes nothing is listed").err, line_of("deep"))
        self.ashlar("leaks --children -- /bin/sh -c", script, err=line_of("deep"))

    def test_what_is_not_a_program_or_not_recorded_is_told(self):
        self.ashlar("leaks", status=2)
        self.ashlar("leaks -- ./gone", status=127)


LOST_BLOCKS = 10 + 50 + 2 + 1 + 100
LOST_BYTES = 10 * 100 + (50 + 2) * 48 + (3 << 20) + 100 * 80


class Unreachable(Recordings):
    """Which of the blocks that a program holds no pointer leads to. Kept are a list, a pointer into a block, one of a thread, one
    on each of two stacks. A destructor frees 500 blocks when the program exits."""

    def processes(self, options="", how="exit", err=()):
        """Returns: of each process that is listed what it holds."""
        self.ashlar(f"leaks --json=leaks.json {options} -- {LOST} {how}", err=err)
        return self.json("leaks.json")["processes"]

    def is_all_lost(self, process):
        self.assertEqual((process["unreachable_blocks"], process["unreachable_bytes"]), (LOST_BLOCKS, LOST_BYTES))

    def test_each_lost_block_is_there_and_no_other(self):
        process, = self.processes(err=("in 163 blocks of it unreachable, the most bytes first:\n", "3.0 MiB in 1 block unreachable, of 1 in all\n"))
        self.is_all_lost(process)
        self.assertGreater(process["bytes"], LOST_BYTES + 4444 + 3333)
        lost = [site["unreachable_bytes"] for site in process["call_sites"]]
        self.assertEqual((sum(lost), 0 in lost), (LOST_BYTES, False))
        self.left_nothing_behind()

    def test_on_ashlar_that_is_all_the_same(self):
        """Caches of its heap keep addresses of blocks that they handed out: these are no pointers."""
        self.environment = {"LD_PRELOAD": GIVEN["drop_in"]}
        for how in ("exit", "thread"):
            self.is_all_lost(self.processes(how=how)[0])

    def test_a_thread_may_exit(self):
        """The pointers of the program's first stack count, whichever thread calls exit."""
        self.is_all_lost(self.processes(how="thread")[0])

    def test_a_forked_process_is_looked_at_by_itself(self):
        self.assertEqual(len(self.processes(how="child", err="of 1 more process nothing is listed")), 1)
        parent, child = self.processes("--children", "child")
        self.is_all_lost(parent)
        # What it has from its parent counts as roots, also what had been freed there.
        self.assertEqual((child["bytes"], "unreachable_bytes" in child), (200, True), child)

    def test_a_program_that_does_not_exit_has_all_of_it_listed(self):
        found = self.processes(how="_exit", err="all that is held is listed: the process did not end by exit")[0]
        self.assertNotIn("unreachable_blocks", found)
        self.assertGreaterEqual(found["blocks"], LOST_BLOCKS + 500)

    def test_the_limit_is_of_what_is_listed(self):
        self.ashlar(f"leaks --fail-above 4MiB -- {LOST}")
        self.ashlar(f"leaks --fail-above 3MiB -- {LOST}", status=1, err="3.0 MiB unreachable at the end, more than 3.0 MiB")
        self.ashlar("leaks --fail-above 0 -- /bin/true")

    def test_a_trace_knows_what_is_lost(self):
        """What record and leaks -o wrote tells the same of the process."""
        self.ashlar(f"leaks -o kept.atrace -- {LOST}", err=" that a pointer leads to (--all lists it)\n")
        self.ashlar(f"record -- {LOST}", err=("lost at exit: 3.0 MiB in 163 blocks that no pointer leads to; most by\n",
                                              "\n    3.0 MiB 100.0 %  (anonymous)::make at lost_blocks.cpp:"))
        self.ashlar("export --format text run.atrace -o run.txt")
        self.ashlar("export --from-text run.txt -o again.atrace")
        for trace in ("kept.atrace", "run.atrace", "again.atrace"):
            self.ashlar(f"leaks --json=leaks.json --trace {trace}")
            self.is_all_lost(self.json("leaks.json")["processes"][0])
        self.ashlar("leaks --fail-above 3MiB --trace run.atrace", status=1)
        self.ashlar(f"record --no-stacks -- {LOST}")
        self.ashlar("leaks --trace run.atrace", out="all that is held is listed: ")

    def test_all_that_is_held_is_listed_on_request(self):
        self.ashlar(f"leaks -o kept.atrace -- {LOST}")
        told = " blocks held at the end, the most bytes first:\n"
        lost, held = self.processes()[0], self.processes("--all", err=told)[0]
        self.assertNotIn("unreachable_blocks", held)
        self.assertGreater(len(held["call_sites"]), len(lost["call_sites"]))
        self.ashlar("leaks --all --trace kept.atrace", out=told)


if __name__ == "__main__":
    main()
