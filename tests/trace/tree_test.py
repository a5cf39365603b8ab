#!/usr/bin/env python3
"""A tree of processes in one folder: `ashlar record -o NAME.atree`, and the commands that read it.

Given: command, calls, static_calls, leak: programs.
"""
import json
import os
import shlex
import shutil
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, main  # pylint: disable=wrong-import-position
from processes import wait_until  # pylint: disable=wrong-import-position
from recordings import Recordings, limit_of_files  # pylint: disable=wrong-import-position

CALLS, STATIC, LEAK = GIVEN["calls"], GIVEN["static_calls"], GIVEN["leak"]
REPORT = "report --text run.atree"


class Tree(Recordings):
    def record(self, line, *words, **options):
        return self.ashlar(f"record -o run.atree -- {line}", *words, **options)

    def index(self):
        return self.json("run.atree/index.json")

    def called(self, word):
        """The processes whose last program was called by this word."""
        return [process for process in self.index()["processes"] if os.path.basename(process["arguments"][0]) == word]

    def has_size(self, process, size):
        return any(event.is_birth and event.size == size for event in self.events(f"run.atree/{process['trace']}"))

    def files_in(self, folder):
        return os.listdir(self.path(folder))

    def test_a_shells_programs_are_in_one_folder_with_an_index(self):
        script = f"'{CALLS}' calls; '{CALLS}' _exit; '{CALLS}' kill; exit 4"
        self.record("/bin/sh -c", script, status=4)
        self.assertEqual(self.files(), ["run.atree"])
        found, shells, programs = self.index(), self.called("sh"), self.called("known_calls")
        self.assertEqual((found["schema"], found["command"]), (1, ["/bin/sh", "-c", script]))
        self.assertEqual((shells[0]["exit_status"], shells[0]["signal"]), (4, None))
        begun = 0
        for program in programs:
            self.assertEqual(
                [program[name] for name in ("parent", "program", "trace")],
                [shells[0]["pid"], os.path.realpath(CALLS), f"known_calls.{program['pid']}.atrace"])
            self.assertEqual(program["arguments"][0], CALLS)
            self.assertEqual(program["events"], len(self.events(f"run.atree/{program['trace']}")))
            self.assertLessEqual(begun, program["begin_seconds"])
            self.assertLessEqual(begun := program["begin_seconds"], program["end_seconds"])
        # What a signal killed told nobody how it ended.
        self.assertEqual([program["exit_status"] for program in programs], [0, 3, None])
        self.assertEqual(len(self.files_in("run.atree")), len(found["processes"]) + 1)
        self.left_nothing_behind()

    def test_the_figures_of_a_process_are_those_of_its_trace(self):
        """The figures are those of report, which reads one trace."""
        self.record(f"{CALLS} calls")
        process, = self.index()["processes"]
        stat = self.ashlar(f"report --text --json run.atree/{process['trace']}").json()
        self.assertEqual([process[name] for name in ("events", "births", "allocated_bytes", "peak_bytes", "held_bytes")],
                         [stat["all_events"], stat["births"], stat["birth_bytes"], stat["peak"]["bytes"], stat["live_at_end"]["bytes"]])
        self.assertEqual(self.index()["peak_bytes_at_most"], process["peak_bytes"])  # it is the only one
        self.assertEqual(stat["header"]["recording"], self.index()["recording"])

    def test_a_compiler_is_found_without_guessing(self):
        if not shutil.which("g++"):
            self.skipTest("there is no g++")
        self.write("x.cpp", "#include <map>\nint main() { std::map<int, int> m{{1, 2}}; }\n")
        self.record("g++ x.cpp -o x", err=" in memory at most; most by cc1plus, process ")
        driver, = self.called("g++")
        for name in ("cc1plus", "as", "collect2"):
            found, = self.called(name)
            self.assertEqual((found["parent"], found["exit_status"]), (driver["pid"], 0), name)
        self.assertEqual(self.called("ld")[0]["parent"], self.called("collect2")[0]["pid"])
        # The largest comes first, and what only starts others is in one line.
        self.lacks(self.ashlar(REPORT, err="(cc1plus), which had most memory of", out=(
            "  cc1plus  ", " more, smaller ones (--json lists them)")).out, "  g++  ")

    def test_forked_processes_are_their_parents_children(self):
        self.record(f"{CALLS} forks")
        parent, *children = self.called("known_calls")
        self.assertEqual(len(children), 4)
        for number, child in enumerate(children):
            self.assertEqual((child["parent"], child["exit_status"]), (parent["pid"], 0))
            self.assertTrue(self.has_size(child, 500 + number))

    def test_a_process_that_executes_another_program_is_one_process(self):
        self.record(f"{CALLS} exec threads")
        process, = self.index()["processes"]
        self.assertEqual((process["arguments"], [before["arguments"] for before in process["executed_before"]]),
                         ([CALLS, "threads"], [[CALLS, "exec", "threads"]]))

    def test_a_daemon_is_recorded_until_the_program_ends(self):
        said = self.record(f"{CALLS} daemon").err
        daemons = [process for process in self.index()["processes"] if process["trace"] and self.has_size(process, 888)]
        for daemon in daemons:
            os.kill(daemon["pid"], signal.SIGKILL)
        self.assertEqual([(daemon["end_seconds"], daemon["exit_status"]) for daemon in daemons], [(None, None)])
        self.has(said, f"ashlar: process {daemons[0]['pid']} (", ") still runs, recorded up to here")
        self.ashlar(REPORT, out="  runs  ")

    def test_a_signal_that_killed_the_program_is_in_the_index(self):
        self.record(f"{CALLS} kill", status=-signal.SIGKILL)
        process = self.index()["processes"][0]
        self.assertEqual((process["signal"], process["exit_status"]), (signal.SIGKILL, None))
        self.assertTrue(self.has_size(process, 777))

    def test_a_static_launcher_is_no_obstacle(self):
        self.record(f"{STATIC} starts {CALLS}")
        self.assertEqual(len(self.called("known_calls")), 1)

    def test_nothing_is_left_where_nothing_could_be_recorded(self):
        self.record(STATIC, status=1, err="it is statically linked")
        self.assertEqual(self.files(), [])

    def test_without_a_name_the_folder_comes_with_the_second_process(self):
        """One file, or a folder as soon as a second process allocates; and the answer of the process that had most memory."""
        self.ashlar(f"record -- {CALLS} calls", err="ashlar: next: ashlar report run.atrace, or with --text")
        self.assertEqual(self.files(), ["run.atrace"])
        said = self.ashlar("record -- /bin/sh -c", f"'{LEAK}';'{CALLS}' many 100000; exit 3", status=3,
                           err="ashlar: next: ashlar report run.atree, or with --text").err
        self.assertEqual(self.files(), ["run.atrace", "run.atree"])
        # Whatever the test's path is: what a screen does not hold of the line is cut.
        self.has(said, f"run.atree/{self.called('planted_leak')[0]['trace']}: {shlex.quote(LEAK)}"[:80])  # in C++, so it has more
        self.ashlar("record -o my.atrace -- /bin/sh -c", f"'{CALLS}' calls; true")
        self.assertEqual(len(self.files()), 4, "files beside each other, as they were named")

    def test_a_second_recording_replaces_the_first_as_a_whole(self):
        self.record(f"{CALLS} forks")
        self.assertEqual(len(self.files_in("run.atree")), 6)
        self.ashlar(f"record -o run.atree/ -- {CALLS} calls")
        self.assertEqual((len(self.files_in("run.atree")), self.files()), (2, ["run.atree"]))

    def test_what_is_no_recording_is_not_replaced(self):
        os.mkdir(self.path("run.atree"))
        for name in ("run.atree/notes", "file.atree"):
            self.write(name, "precious")
        # The program would wait for ever.
        for name, told in (("run.atree", "'run.atree/notes' is there"), ("file.atree", "is there and is no folder"),
                           ("/nowhere/a.atree", "cannot write '/nowhere/a.atree.part'")):
            self.refused(told, f"record -o {name} -- {CALLS} wait")
        self.assertEqual([self.read("run.atree/notes"), self.read("file.atree"), self.files()],
                         ["precious", "precious", ["file.atree", "run.atree"]])

    def test_a_folder_of_single_traces_is_not_replaced(self):
        """As with other commands, -o FOLDER/ might be meant to add to the folder."""
        os.mkdir(self.path("mine"))
        self.ashlar(f"record -o mine/a.atrace -- {CALLS} calls")
        trace = self.read("mine/a.atrace")
        self.refused("it is no recording of a tree", f"record -o mine/ -- {CALLS} calls")
        for folder in ("./", "mine/../", "/"):
            self.refused("a folder of its own", f"record -o {folder} -- {CALLS} calls")
        self.assertEqual((self.read("mine/a.atrace"), self.files()), (trace, ["mine"]))
        os.mkdir(self.path("empty"))
        self.ashlar(f"record -o empty/ -- {CALLS} calls")
        self.assertEqual(len(self.files_in("empty")), 2)

    def test_only_records_the_programs_that_it_names(self):
        other = shutil.copy(CALLS, self.path("other"))
        script = f"'{CALLS}' forks; '{other}' calls; true"
        self.ashlar("record --only known_calls -- /bin/sh -c", script)
        recorded = 0
        for process in self.index()["processes"]:
            is_named = process["program"] == os.path.realpath(CALLS)
            self.assertEqual((process["recorded"], process["trace"] is None), (is_named, not is_named), process)
            recorded += is_named
        self.assertEqual((recorded, len(self.called("other")), len(self.files_in("run.atree"))), (5, 1, 6))  # with its forked children
        self.refused("'record --only' named other programs", REPORT + " --process other")
        self.ashlar("record --only nothing,other -- /bin/sh -c", script)
        self.assertEqual(len(self.files_in("run.atree")), 2)

    def test_a_program_that_is_not_recorded_ends_the_blocks_of_the_one_before_it(self):
        """No block lives across exec, though nothing of the new program is told."""
        named = shutil.copy(CALLS, self.path("named"))
        for only in ("named", "sh"):
            # A program executes itself by the word that it was called by.
            self.ashlar(f"record --only {only} -- /bin/sh -c", f"exec '{named}' exec calls")
            process, = self.index()["processes"]
            self.assertEqual((len(process["executed_before"]), self.has_size(process, 777)), (2, only == "named"))
            if only == "sh":
                self.assertEqual(process["held_bytes"], 0)

    def test_only_without_such_a_process_says_what_ran(self):
        self.ashlar(f"record --only nothing -- {CALLS} calls", status=1, err="these did: known_calls")
        self.assertEqual(self.files(), [])

    def test_words_that_do_not_fit_each_other_are_refused(self):
        for words, told in (("record --only x -o x.atrace", "--only writes a folder"), (f"record --only {5000 * 'x'}", "more than 4096 bytes"), ("leaks -o x.atree", "-o of leaks names a file"),
                            ("leaks --process x", "the folder that --trace names")):
            self.refused(told, f"{words} -- {CALLS}")

    def test_a_killed_recorder_leaves_a_folder_that_can_be_read(self):
        process = self.start(f"record -o run.atree -- {CALLS} wait")

        def kept():
            if not os.path.exists(self.path("run.atree.part")):
                return False
            return any(event.size == 777 for name in self.files_in("run.atree.part") if self.bytes_of(f"run.atree.part/{name}") >= 100
                       for event in self.events(f"run.atree.part/{name}", is_whole=False, status=None))

        self.assertTrue(wait_until(kept))
        self.kill(process, signal.SIGKILL)
        process.wait()
        self.ashlar(REPORT + ".part", err="has no index.json, since the recorder was killed", out="known_calls")
        # The next one does not touch it.
        self.record(f"{CALLS} calls")
        self.assertEqual(self.files(), ["run.atree", "run.atree.part"])

    def test_what_was_written_before_a_failure_stays_in_the_folder(self):
        """The disk is full, or a limit is reached. The program goes on, and its end is told."""
        process = self.start(f"record -o my.atree -- {CALLS} many 5000000")
        self.assertTrue(wait_until(lambda: os.path.exists(self.path("my.atree.part")) and any(
            self.bytes_of(f"my.atree.part/{name}") > 10_000 for name in self.files_in("my.atree.part"))))
        limit_of_files(process)
        self.finish(process, 1, err="recorded before can be read in 'my.atree.part'")
        self.assertEqual(self.files(), ["my.atree.part"])
        self.ashlar("report --text my.atree.part")

    def test_a_command_reads_the_process_that_is_named(self):
        self.ashlar("record -o run.atree --stacks -- /bin/sh -c", f"'{CALLS}' calls; '{LEAK}'; true")
        processes = len(self.index()["processes"])
        leak, = self.called("planted_leak")
        pid = str(leak["pid"])
        for name in ("planted_leak", pid):
            stat = self.ashlar(f"report --text --json --process {name} run.atree").json()
            self.assertEqual((stat["header"]["pid"], len(stat["tree"]["processes"])), (pid, processes))
        told, others = f"process {pid}: ", f"process {self.called('known_calls')[0]['pid']}: "
        self.lacks(self.ashlar("leaks --trace run.atree --process planted_leak", out=told).out, others)
        self.ashlar("leaks --trace run.atree --children", out=(told, others))
        self.ashlar(REPORT + " --process planted_leak", out=f"planted_leak.{pid}.atrace")
        page = self.ashlar("report --json run.atree --process planted_leak").json()
        self.assertEqual((page["pages"][0]["trace"]["pid"], len(page["tree"]["processes"])), (leak["pid"], processes))

    def test_what_is_no_folder_of_a_recording_is_refused(self):
        self.record(f"{CALLS} calls")
        found = self.index()
        process = found["processes"][0]
        trace = process["trace"]
        for shown in ("--text", "--json"):
            for words, told in (("tmp", "'tmp' is a folder without a recording"), (f"run.atree/{trace} --process x", "the trace of one process"),
                                ("run.atree --process nobody", "no process 'nobody'; it has known_calls")):
                self.refused(told, f"report {shown} {words}")
        for changed, told in (({**found, "processes": [{**process, "trace": f"../run.atree/{trace}"}]}, "outside of the folder"),
                              ({**found, "processes": [{**process, "pid": "many"}]}, "no index of a recording, or is damaged"),
                              ({**found, "processes": []}, "no process"), ({**found, "schema": 1000}, "a newer ashlar")):
            self.write("run.atree/index.json", json.dumps(changed))
            self.refused(told, REPORT)
        self.write("run.atree/index.json", "{")
        self.refused("damaged", REPORT)
        os.remove(self.path("run.atree/index.json"))
        self.ashlar(REPORT)


if __name__ == "__main__":
    main()
