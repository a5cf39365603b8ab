#!/usr/bin/env python3
"""ashlar record as a user meets it: what a program is known to do is what its trace says.

Given: command; calls, calls_apart, static_calls, operators, hard_stacks: programs; plugin, slow_allocator: libraries, and how many
call_microseconds the latter takes; machine, a processor.
"""
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, main  # pylint: disable=wrong-import-position
from processes import NOBODY, wait_until  # pylint: disable=wrong-import-position
from recordings import Recordings, limit_of_files  # pylint: disable=wrong-import-position

COMMAND, CALLS, STATIC, HARD_STACKS = (GIVEN[name] for name in ("command", "calls", "static_calls", "hard_stacks"))
PLAIN = f"record --no-stacks -- {CALLS}"
MIB = 1 << 20
PAGE = os.sysconf("SC_PAGESIZE")
PR_SET_THP_DISABLE = 41


def told(events):
    """The calls, each with its size and alignment where it has some."""
    return "".join(event.kind + f" {event.size}" * bool(event.size) + f"@{event.alignment}" * bool(event.alignment) + ", " for event in events)


def sizes(events):
    return [event.size for event in events if event.is_birth]


def marked(events):
    """Those between the marks "begin" and "end"."""
    marks = {event.text: number for number, event in enumerate(events) if event.kind == "mark"}
    return events[marks["begin"] + 1:marks["end"]]


class Record(Recordings):
    def stat(self, trace="run.atrace"):
        return self.ashlar("report --text --json --rows 10000", trace).json()

    def header(self, trace):
        return dict(re.findall(r"^header (\w+) (.*)", self.text_of(trace, is_whole=False), re.MULTILINE))

    def part(self, least=10_001):
        """The file of a recording that goes on and has so many bytes, or none."""
        return next((name for name in self.files() if name.endswith(".part") and self.bytes_of(name) >= least), "")

    def begun(self, line, *words):
        """Started, and some of its recording is in a file."""
        process = self.start(line, *words)
        self.assertTrue(wait_until(self.part))
        return process

    def is_warned_of(self, trace):
        """It has no end, and many events."""
        said = self.ashlar("report --text --json", trace)
        self.assertNotEqual(said.json()["warning"], "")
        self.assertGreater(said.json()["all_events"], 10_000)

    def test_every_function_of_the_malloc_family_is_one_event(self):
        self.ashlar(PLAIN + " calls")
        found = marked(self.events())
        self.assertEqual(told(found), "malloc 24, calloc 300, aligned 128@64, aligned 40@256, realloc-from, realloc 5000, realloc 7, "
                         f"realloc 30, aligned 9@32, aligned 11@{PAGE}, free, free, free, free, free, free, free, free, ")
        addresses = [event.address for event in found]
        self.assertEqual(addresses[4], addresses[0])
        self.assertEqual(addresses[10:], [addresses[birth] for birth in (1, 2, 3, 6, 7, 8, 9, 5)])
        times = [event.time for event in found]
        self.assertEqual((times, self.files()), (sorted(times), ["run.atrace"]))

    def test_every_operator_is_one_event_and_an_exception_passes_through(self):
        self.ashlar(f"record --no-stacks -- {GIVEN['operators']}")
        found = marked(self.events())
        thrown, = [number for number, event in enumerate(found) if event.text == "thrown"]
        # The C++ library allocates the exception itself.
        first = next((number for number, event in enumerate(found[:thrown]) if event.kind == "malloc"), thrown)
        self.assertEqual(told(found[:first]), "new 10, delete, new[] 20, delete[], new 30, delete, new[] 40, delete[], new 50@64, delete, "
                         "new[] 60@64, delete[], new 70, delete, new[] 80, delete[], new 128@128, delete, ")
        self.assertIn(90, sizes(found[thrown:]))

    def test_the_time_of_a_call_is_before_a_birth_and_behind_a_death(self):
        """A block lives from the end of the call that makes it to the begin of the call that frees it: an allocator's own time is
        in nobody's life. Here it is so long that each event shows on which side of its call it is."""
        for program in (f"{CALLS} calls", GIVEN["operators"]):
            self.ashlar(f"record --no-stacks --on {GIVEN['slow_allocator']} -- {program}")
            # A tenth less, for the clocks.
            call = int(self.header("run.atrace")["ticks_per_second"]) * int(GIVEN["call_microseconds"]) // 1_000_000 * 9 // 10
            events = self.events()
            begin, end = ([event.text for event in events].index(text) for text in ("begin", "end"))
            self.assertGreater(end - begin, 18)
            for first, second in zip(events[begin:end], events[begin + 1:]):
                are_one_call = (first.kind, second.kind) == ("realloc-from", "realloc")
                self.assertGreaterEqual(second.time - first.time, (1 if are_one_call else first.is_death + second.is_birth) * call,
                                        f"{first.kind}, then {second.kind}")

    def test_threads_are_numbered_start_and_end(self):
        self.ashlar(PLAIN + " threads")
        found = marked(self.events())
        for kind in ("thread-start", "thread-exit"):
            self.assertEqual({event.thread for event in found if event.kind == kind}, {2, 3, 4})
        self.assertNotIn(1, {event.thread for event in found if event.size == 333 and event.is_birth})
        # All that the threads freed and gave back was somebody else's.
        born_by, crossed = {}, 0
        for event in self.events():
            thread, size = born_by.get(event.address, (event.thread, 0))
            crossed += event.is_death and thread != event.thread and size in (222, 333)
            if event.is_birth:
                born_by[event.address] = (event.thread, event.size)
        self.assertEqual((crossed, self.stat()["missing_deaths"]), (6, 0))

    def test_blocks_that_go_from_thread_to_thread_are_in_order(self):
        # The second time on ashlar's heap, which hands what one thread freed to another one soon.
        for on in ("", "--on ashlar"):
            for program, births in (("crowd", 400_000), ("resizing", 100_000)):
                self.ashlar(f"record {on} -- {CALLS} {program}")
                stat = self.stat()
                blocks, = [row for row in stat["sizes"] if row["size"] == 1001]
                self.assertEqual((blocks["births"], blocks["live_at_end"]), (births, 0))
                self.assertGreater(stat["cross_thread_deaths"], 1000)
                self.assertEqual((stat["missing_deaths"], stat["unknown_deaths"]), (0, 0))

    def test_a_forked_process_has_its_own_trace(self):
        self.ashlar(f"record -o my.atrace -- {CALLS} forks")
        names, own = self.files(), self.events("my.atrace")
        self.assertEqual(len(names), 5)
        self.assertEqual(len({event.size for event in own if event.kind == "fork"}), 2)  # those that the C library made
        self.assertFalse(set(sizes(own)) & {500, 501, 502, 503})
        found = set()
        for name in set(names) - {"my.atrace"}:
            self.assertTrue(name.startswith("my."))
            found.update(size for size in sizes(self.events(name)) if 500 <= size < 504)
            header = self.header(name)
            self.assertEqual(header["program"], os.path.realpath(CALLS))
            self.assertNotEqual(header.get("parent", "0"), "0")
            self.assertEqual(self.stat(name)["unknown_deaths"], 1)  # the block that it was born with
        self.assertEqual(len(found), 4)

    def test_a_second_recording_is_not_mixed_with_the_children_of_the_first(self):
        """What is replaced is the recording, not the program's own trace alone."""
        forks = f"record -o my.atrace -- {CALLS} forks"
        self.ashlar(forks)
        first = self.files()
        self.assertEqual(len(first), 5)
        # Neither is a child of the first recording's: a trace of another one, and no trace.
        self.ashlar(f"record -o my.1.atrace -- {CALLS} calls")
        self.write("my.2.atrace", "precious")
        shutil.copy(self.path(first[-1] if first[0] == "my.atrace" else first[0]), self.path("kept"))
        self.ashlar(forks)
        self.assertEqual((len(self.files()), set(first) & set(self.files())), (8, {"my.atrace"}))
        self.assertEqual(self.read("my.2.atrace"), "precious")
        self.assertTrue(self.events("my.1.atrace"))
        self.assertIn("kept", self.files())

    def test_what_a_forked_process_inherited_is_told_by_each_command_and_in_no_figure(self):
        """docs/trace-format.md, "Order": what the commands make of a block from before the fork."""
        self.ashlar(f"record -o my.atrace -- {CALLS} forks")
        child = next(name for name in self.files() if name != "my.atrace")
        before, not_in_pools = "1 deaths of blocks from before the recording", "1 blocks died that were born before the recording"
        self.ashlar(f"report --text {child}", out=before)
        self.lacks(self.ashlar(f"report --text --json {child}", out='"unknown_deaths": 1').out, '"size": 444')
        self.ashlar(f"tune profile -o child.aprof {child}", err="1 run, 1 births of 1 sizes")
        self.ashlar("report --text child.aprof", out=before)
        self.ashlar(f"tune --certificate child.json {child}", err=not_in_pools)
        self.ashlar(f"tune check --against child.json {child}", err=not_in_pools)
        self.ashlar("tune verify child.json")
        self.ashlar(f"replay --on system -n 1 {child}", out=before + ": skipped")
        self.ashlar(f"report --json {child}", out='"unknown_deaths": 1')

    def test_a_killed_programs_trace_has_all_that_it_did(self):
        self.ashlar(PLAIN + " kill", status=-signal.SIGKILL)
        events = self.events()
        self.assertGreaterEqual(len(events), 100_001)
        self.assertEqual(events[-1].size, 777)

    def test_leaving_by_exit_loses_nothing(self):
        self.ashlar(f"record -- {CALLS} _exit", status=3, err="\n  peak RSS ")  # it looks at itself
        self.assertEqual(self.events()[-1].size, 777)

    def test_what_a_program_executes_goes_on_in_its_trace(self):
        """What follows may fill chunks, which are fetched at once; the image before left one that is not full."""
        for then in ("", " many", " nothing"):
            self.ashlar(PLAIN + " exec" + then)
            events = self.events()
            image, = [number for number, event in enumerate(events) if event.kind == "image"]
            self.assertEqual(events[image].text, f"{CALLS}\0{then.strip() or 'calls'}\0")
            self.assertIn(777, sizes(events[:image]))
            self.assertEqual(self.files(), ["run.atrace"])
            if not then:
                self.assertEqual(len(marked(events)), 18)
            elif then == " many":
                self.assertGreater(len(events) - image, 200_000)
            else:  # it began, and no block lives on: that it allocates nothing changes neither
                self.assertEqual((image, self.stat()["live_at_end"]["blocks"]), (len(events) - 1, 0))

    def test_a_program_that_allocates_nothing_has_a_trace_without_events(self):
        self.ashlar(PLAIN + " nothing", err="allocated nothing")
        self.assertEqual((self.files(), self.events(), self.header("run.atrace")["program"]), (["run.atrace"], [], os.path.realpath(CALLS)))
        self.ashlar("report --text run.atrace")
        self.ashlar("tune profile -o run.aprof run.atrace")

    # ---- what a user is told of a program that no recorder got into, and that this is not taken for success

    def nothing_recorded(self, program, status, why):
        before = self.files()
        self.ashlar(f"record -- {program}", status=status, err=why)
        self.assertEqual(self.files(), before)

    def test_nothing_of_a_static_program(self):
        self.nothing_recorded(STATIC, 1, "it is statically linked")
        self.nothing_recorded(f"{STATIC} _exit", 3, "it is statically linked")  # its own status says so
        self.ashlar(f"record --no-stacks -- {STATIC} kill", status=-signal.SIGKILL)

    def test_nothing_of_a_program_that_gains_rights(self):
        program = shutil.copy(CALLS, self.path("privileged"))
        if os.geteuid() != 0 or os.statvfs(program).f_flag & os.ST_NOSUID:
            self.skipTest("only root can make such a program, where the system heeds it")
        os.chown(program, NOBODY, NOBODY)
        os.chmod(program, 0o4755)
        self.nothing_recorded(program, 1, "it gains rights")

    def test_nothing_by_a_library_that_the_loader_does_not_take(self):
        self.write("library.so", "this is no library")
        self.environment = {"ASHLAR_RECORD_LIB": self.path("library.so")}
        self.nothing_recorded(CALLS, 1, "the loader does not take the recorder")

    def test_nothing_of_the_program_itself_but_of_what_it_starts(self):
        """A program of its own processes only: what they do is there, but not what was asked for."""
        self.ashlar(f"record --no-stacks -- {STATIC} starts {CALLS}", status=1, err="it is statically linked")
        name, = self.files()
        self.assertNotEqual(name, "run.atrace")
        self.assertTrue(self.events(name))

    # ---- many events, and recordings that end early

    def test_no_event_is_lost_when_there_are_many(self):
        self.ashlar(PLAIN + " many 1000000")
        births, lines = 0, self.text_of("run.atrace").splitlines()
        for kind, size in (line.split(" ")[2:5:2] for line in lines if " malloc " in line):
            births += size == str(births % 1000 + 1)
        self.assertGreaterEqual(births, 1_000_000)
        self.assertEqual(self.stat()["lost"], 0)

    def test_threads_that_end_leave_nothing_behind(self):
        """More than there are chunks."""
        self.ashlar(PLAIN + " failures 9000")
        kinds = [event.kind for event in self.events()]
        self.assertNotIn("lost", kinds)
        self.assertGreaterEqual(kinds.count("thread-start"), 9000)

    def test_a_signal_goes_to_the_program_and_the_trace_stays(self):
        process = self.started("ready\n", PLAIN + " wait")
        process.send_signal(signal.SIGINT)
        self.finish(process, -signal.SIGINT)
        self.assertIn(777, sizes(self.events()))

    def test_a_recorder_that_is_killed_leaves_what_it_has_written(self):
        process = self.begun(PLAIN + " many 500000000")
        name = self.part()
        program = int(self.header(name)["pid"])
        process.kill()
        process.wait()
        self.assertGreater(program, 1)
        os.kill(program, signal.SIGKILL)
        self.is_warned_of(name)

    def test_what_a_program_did_a_second_ago_outlives_the_recorder(self):
        """A short run fills no chunk, and a program at rest never does."""
        for options in ("--no-stacks", ""):
            process = self.start(f"record {options} -- {CALLS} wait")
            self.assertTrue(wait_until(lambda: self.part(100) and 777 in sizes(self.events(self.part(100), is_whole=False, status=None))))
            self.kill(process, signal.SIGKILL)
            process.wait()
            name = self.part(100)
            self.assertEqual("\nstack " in self.text_of(name, is_whole=False), not options)
            self.ashlar("report --text", name, err="of a recorder that was killed, at most the last second")
            os.remove(self.path(name))

    def test_what_was_written_before_a_failure_stays(self):
        """The disk is full, or a limit is reached. The program goes on, and its end is told."""
        process = self.begun(f"record -o my.atrace -- {CALLS} many 5000000")
        limit_of_files(process)
        said = self.finish(process, 1).err
        name = self.part()
        self.assertEqual(self.files(), [name])
        self.has(said, f"cannot write '{name}'", f"recorded before can be read in '{name}'")
        self.is_warned_of(name)

    def test_a_programs_own_end_is_told_though_recording_failed(self):
        # The shell ends long after the limit, and allocates so little that its own trace would fit.
        process = self.begun("record -o run.atrace -- /bin/sh -c", f"'{CALLS}' many 5000000; exit 7")
        limit_of_files(process)
        self.finish(process, 7)
        self.assertTrue(self.part())

    def test_a_programs_own_end_is_told_though_its_trace_cannot_have_the_name(self):
        """Somebody made a folder there meanwhile."""
        for own in (0, 7):
            said = self.ashlar(f"record -o folder.{own} -- /bin/sh -c", f"mkdir folder.{own}; exit {own}", status=own or 1,
                               err=f"cannot write 'folder.{own}'").err
            self.assertTrue(self.events(re.search("what was recorded before can be read in '([^']*)'", said)[1]))

    def test_a_program_without_its_interpreter_has_the_shells_status(self):
        self.write("script", "#!/no/such/interpreter\n")
        os.chmod(self.path("script"), 0o700)
        self.ashlar("record --no-stacks -- ./script", status=127, err="its interpreter is missing")
        self.assertEqual(self.files(), ["script"])

    def test_a_name_that_is_too_long_is_found_before_the_program_runs(self):
        for length in (244, 249, 255):
            self.refused("File name too long", f"record -o {length * 'n'} -- {CALLS} wait")  # that would wait for ever

    def test_a_folder_that_takes_no_file_is_told_by_the_name_that_was_given(self):
        said = self.ashlar(f"record -o /proc/my.trace -- {CALLS} calls", status=2, err="/proc/my.trace").err
        self.lacks(said, str(0xffffffff))

    def test_a_limit_of_files_that_is_too_low_is_named(self):
        done = subprocess.run(f"ulimit -f 100000 && '{COMMAND}' record -- '{CALLS}' 2>err", shell=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.has(self.read("err"), "ulimit -f")
        self.assertEqual(self.files(), [])

    # ---- stacks, and memory that nobody touched

    def test_stacks_lead_to_the_call(self):
        """Also in a program with a gap between its segments, of which the loader tells one alone."""
        for program in (GIVEN["calls_apart"], CALLS):
            self.ashlar(f"record --stacks=4 -- {program} calls")
            text = self.ashlar("report --text run.atrace", out="main in " + os.path.basename(program)).out
            self.lacks(text, "ashlar-record")
        depths = [len(stack.split()) for stack in re.findall(r"^stack \d+(.*)", self.text_of("run.atrace"), re.MULTILINE)]
        self.assertTrue(depths and max(depths) <= 4, depths)

    def test_of_many_large_blocks_some_are_looked_at(self):
        self.ashlar(f"record --stacks -- {CALLS} large 2049")
        self.assertEqual([event.kind for event in self.events()].count("untouched"), 64 + 2)

    def test_a_stack_that_leads_nowhere_ends_there(self):
        self.ashlar(f"record --stacks=64 -- {HARD_STACKS} broken")
        self.assertIn(24, sizes(self.events()))

    @unittest.skipUnless(GIVEN["machine"] == "x86_64", "its code is for this processor")
    def test_code_made_at_run_time_is_in_stacks_with_its_names(self):
        def recorded():
            """Returns: its map of names."""
            self.ashlar(f"record --stacks -- {HARD_STACKS} trampolines")
            return pathlib.Path(f"/tmp/perf-{self.header('run.atrace')['pid']}.map")

        def folded():
            self.ashlar("export --force --format=folded --figure=alloc_objects -o run.folded run.atrace")
            return "\n" + self.read("run.folded")

        names, unknown, space = recorded(), "[code made at run time]", "(anonymous namespace)::"
        self.assertTrue(names.exists())
        text = folded()
        self.has(text, f"main;{space}trampolines();keep_all;{space}allocate_through_pop();Rows.make;{space}allocate()",
                 f"\n{unknown};{space}allocate()")
        self.ashlar("report --text run.atrace", out="  Rows.make in rows.py\n")
        self.lacks(self.ashlar("export --symbols run.atrace").err, "rows.py")  # a script has no debug information
        names.unlink()
        self.assertEqual(folded(), text, "the trace has the names")
        recorded().unlink()
        self.has(folded(), f"main;{space}trampolines();{unknown};")

    def test_a_forked_process_is_not_held_up_by_another_thread(self):
        """The loader's lists have a lock that a fork leaves as it is: one has a new stack, one loads a library."""
        for what, children in (("forks", 150), (f"loads {GIVEN['plugin']}", 101)):
            self.ashlar(f"record --stacks=32 -o run.atrace -- {HARD_STACKS} {what}")
            self.assertEqual(len(self.files()), 1 + children)

    def test_a_shells_programs_are_recorded_too(self):
        """And processes with few events are one line, as of a launcher, behind which the program would be hard to find."""
        self.ashlar("record -o run.atrace -- /bin/sh -c", f"'{CALLS}' calls; '{CALLS}' calls; true")
        self.assertEqual(len(self.files()), 3)
        said = self.ashlar("record --no-stacks -o run.atrace -- /bin/sh -c", f"'{CALLS}' calls; '{CALLS}' calls; exec '{CALLS}' many 100000",
                           err=("ashlar: run.atrace: ", "ashlar: and 2 more processes, each")).err
        self.assertEqual((len(self.files()), said.count(" events of process ")), (3, 1), said)

    def test_at_most_four_processes_are_told(self):
        """Else a script's first screen is behind a screen of files."""
        said = self.ashlar("record --no-stacks -o run.atrace -- /bin/sh -c", f"'{CALLS}' many 1000; " * 7 + "true",
                           err="ashlar: and ").err
        self.assertEqual(said.count(" events of process "), 4, said)

    def test_more_processes_than_may_have_a_file_open_are_recorded(self):
        """A build starts thousands."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.ashlar("record -o run.atrace -- /bin/sh -c", f"'{CALLS}' calls\n" * 40 + "true",
                    before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (30, most)))
        self.assertEqual(len(self.files()), 41)

    # ---- what is written, and what is left alone

    def test_a_file_that_is_no_trace_is_not_written_over(self):
        self.write("notes.txt", "precious")
        self.ashlar(f"record -o notes.txt -- {CALLS}", status=2, err="'notes.txt' is there and is no trace")
        self.assertEqual(self.read("notes.txt"), "precious")
        self.ashlar(f"record -o /nowhere/run.atrace -- {CALLS}", status=2)
        for _ in range(2):  # a trace is
            self.ashlar(PLAIN)

    def test_dump_and_stat_refuse_what_is_no_trace_and_leave_nothing(self):
        self.write("empty", "")
        self.write("text", "hello, I am a text and no trace\n")
        for name in ("empty", "text", "absent"):
            for line in (f"report --text {name}", *(f"export --{how} {name} -o result" for how in ("format=text", "from-text"))):
                self.refused(name, line)

    def test_dump_leaves_alone_what_it_does_not_write(self):
        self.ashlar(PLAIN)
        text = self.text_of("run.atrace")
        self.write("x.txt.part", "precious")
        os.symlink("file", self.path("link"))
        for output in ("x.txt", "link"):
            self.ashlar(f"export --format=text run.atrace -o {output}")
            self.assertEqual(self.read(output), text)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("x.txt.part"), "precious")
        os.mkfifo(self.path("pipe"))
        process = self.start("export --format=text run.atrace -o pipe")
        self.assertEqual(pathlib.Path(self.path("pipe")).read_text("latin-1"), text)
        self.finish(process)
        self.assertTrue(pathlib.Path(self.path("pipe")).is_fifo())

    def test_a_dump_that_a_signal_ends_leaves_nothing(self):
        os.mkfifo(self.path("pipe"))
        text = os.open(self.path("pipe"), os.O_RDWR | os.O_CLOEXEC)  # it never ends
        self.addCleanup(os.close, text)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("export --from-text pipe -o x.atrace")
            self.assertTrue(wait_until(lambda: len(self.files()) == 2))
            process.send_signal(number)
            self.finish(process, -number)
            self.assertEqual(self.files(), ["pipe"])

    def test_dumped_text_becomes_the_same_trace_again(self):
        self.ashlar(f"record --stacks -- {CALLS} threads")
        self.ashlar("export --format=text run.atrace -o one.txt")
        self.ashlar("export --from-text one.txt -o again.atrace")
        self.assertEqual(self.text_of("again.atrace"), self.read("one.txt"))
        self.assertGreater(len(self.read("one.txt")), 1000)


@unittest.skipUnless(os.access("/proc/self/pagemap", os.R_OK), "the system does not tell")
class Untouched(Recordings):
    def record(self, options):
        # A huge page brings memory that nobody touched.
        self.ashlar(f"record {options} -o run.atrace -- {CALLS} touches", before=lambda: ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))

    def untouched(self, events):
        """By size: how many bytes of it nobody touched."""
        born, found = {}, {}
        for event in events:
            if event.is_birth:
                born[event.address] = event.size
            elif event.kind == "untouched" and event.address in born:
                self.assertNotIn(born[event.address], found, "it is looked at once")
                found[born[event.address]] = event.size
        return found

    def expect(self, found, *mebibytes):
        """One MiB of each is touched, and what lies on a page with other things is not counted."""
        self.assertEqual(sorted(found), [size * MIB for size in sorted(mebibytes)])
        for size, untouched in found.items():
            self.assertTrue(size - MIB - 2 * PAGE <= untouched <= size - MIB, (size, untouched))

    def test_what_nobody_touched_of_a_large_block_is_told(self):
        self.record("")
        events = self.events()
        # The last one lives at the end, and that of 8 MiB, too.
        self.expect(self.untouched(events), 4, 1, 3, 5, 8, 7)
        for note, death in zip(events, events[1:]):
            if note.kind == "untouched" and death.is_death:
                self.assertEqual((note.address, note.thread), (death.address, death.thread))
        child, = set(self.files()) - {"run.atrace"}
        self.expect(self.untouched(self.events(child)), 6)
        self.ashlar("report --text", child)
        self.record("--no-stacks")
        self.assertEqual(self.untouched(self.events()), {}, "without stacks there are no findings")

    def test_what_nobody_touched_is_told_of_the_drop_in_too(self):
        self.record("--on ashlar")
        # Later blocks may have pages of this one.
        self.expect({4 * MIB: self.untouched(self.events())[4 * MIB]}, 4)


if __name__ == "__main__":
    main()
