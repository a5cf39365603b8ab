#!/usr/bin/env python3
"""The ashlar command as a user meets it: arguments in, streams, files and exit status out.

Given: command, program, faulty_program; library, empty where the build has no drop-in library.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main, waiting  # pylint: disable=wrong-import-position
from processes import wait_until  # pylint: disable=wrong-import-position

COMMAND, PROGRAM, LIBRARY, FAULTY_PROGRAM = (GIVEN[name] for name in ("command", "program", "library", "faulty_program"))


class Command(CommandInFolder):
    def test_stat_tells_times_without_a_unit_and_texts_without_control_characters(self):
        """Of a trace that says so little, and nothing good: no unit of time, and what a terminal would obey."""
        self.write("a.txt", "ashlar-trace-text 1\nheader program \\1b]0;title\\07\nheader arguments a\\1b[2Jb\\00\n"
                   "header pid 1\\0a2\nmodule 0x1000 0x2000 0x0 /\\c2\\9blib\nstack 1 0x1500\n"
                   "1000000000 1 malloc 0x10 24 stack=1\n4500000000 1 free 0x10\n")
        self.ashlar("export --from-text a.txt -o a.atrace")
        said = self.ashlar("report --text a.atrace", out=(" \\xc2\\x9blib+0x1500\n", "2 in 3.500 s")).out
        self.assertTrue(said.startswith("a.atrace: $'a\\x1b[2Jb'\n  \\x1b]0;title\\x07, process 1\\x0a2\n"), said)

    def test_help_and_version_are_on_standard_output(self):
        for asked in ("--help", "compare -h"):
            self.assertEqual(self.ashlar(asked, out=("Usage: ashlar", "Example")).err, "")
        self.assertTrue(self.ashlar("--version").out.startswith("ashlar "))

    def test_a_wrong_line_names_the_word_and_the_remedy(self):
        for line, named in (("--frob", "--frob"), ("run", "which program"), ("run --", "which program"),
                            ("compare -n 0 -- ls", "--runs"), ("compare -n many -- ls", "many"),
                            ("compare --only system,nonesuch -- ls", "nonesuch"),
                            ("compare --only system --with x= -- ls", "--with x=: expected NAME=LIBRARY, as in --with mine=./libmine.so"),
                            *((f"compare --only system --with {name} -- ls", "NAME=LIBRARY") for name in ("x", "=lib.so")),
                            *((f"compare --only system --with x={path} -- ls", path) for path in ("/no/lib.so", "/proc/self/status")),
                            ("compare --only system -o /no/folder/x -- ls", "/no/folder/x"),
                            ("compare --only system --with x=jemaloc -- ls",
                             "--with x=jemaloc: there is no library 'jemaloc'; name its file, as libjemalloc.so.2, or its path"),
                            ("leaks --trace x -- ls", "a program is one too many"),
                            ("leaks --trace x -o y", "--output excludes --trace"),
                            ("check --log x -- ls", "a program is one too many"),
                            ("check --log x --continue", "--log excludes --continue"), ("compare --summary", "FILE"),
                            ("compare --summary /no/such.json", "/no/such.json"), (f"compare --summary {PROGRAM}", "JSON")):
            self.assertEqual(self.ashlar(line, status=2, err=(named, "--help")).out, "")
        self.ashlar("", status=2)

    def test_a_missing_program_has_the_shells_status(self):
        for name in ("run", "compare"):
            for program, status in (("no-such-program", 127), ("./no-such-program", 127), (self.folder + "/", 126),
                                    ("/proc/self/status", 126)):
                self.ashlar(f"{name} --", program, status=status, err=f"'{program}'")

    def test_a_file_that_is_not_written_in_the_end_is_a_failure_of_a_comparison(self):
        line = f"compare -n 1 --warmup 0 --only system --json=/dev/full -- {PROGRAM} exit"
        self.ashlar(line, status=1, out="below 1 is better", err="cannot write '/dev/full'")
        self.ashlar(line, before=waiting(signal.SIGINT), status=128 + signal.SIGINT, err="cannot write '/dev/full'")

    def test_a_reader_who_has_seen_enough_still_gets_the_samples(self):
        self.without_reader(f"compare -n 1 --warmup 0 --only system --json=samples.json -- {PROGRAM} exit", status=None,
                            err="cannot write to standard output")
        self.has(self.read("samples.json"), '"system"')

    def test_a_library_that_is_not_there_is_named(self):
        self.environment = {"ASHLAR_MALLOC_LIB": "/no/libashlar-malloc.so"}
        self.assertEqual(self.ashlar(f"run -- {PROGRAM}", status=2, err="/no/libashlar-malloc.so").out, "")

    def test_compare_on_the_systems_allocator_alone(self):
        said = self.ashlar(f"compare -n 3 --warmup 2 --only system --seed 7 --json=j -o page.html -- {PROGRAM} exit 4",
                           out=("system", "exit status 4"), err="round 3 of 3").out
        self.lacks(said, "out\n")
        found = self.json("j")
        self.assertEqual((found["seed"], len(found["allocators"][0]["samples"]), found["allocators"][0]["runs"]), (7, 5, 3))
        page = self.read("page.html").partition('type="application/json" id="data">\n')[2].partition("\n</script>")[0]
        self.assertEqual({name: value for name, value in json.loads(page).items() if name != "notes"}, found)
        self.left_nothing_behind()
        self.ashlar("compare --summary j", out="cli_test_program")

    def test_compare_ends_early_with_what_it_has(self):
        process = self.started("said\nsaid", "compare -n 1000 --warmup 0 --only system --json=j --show-output -- /bin/sh -c",
                               "echo said; sleep 0.1")
        self.kill(process, signal.SIGINT)
        self.finish(process, 128 + signal.SIGINT, out="ended early by SIGINT")
        self.assertEqual(self.json("j")["interrupted_by"], "SIGINT")
        self.assertGreaterEqual(self.json("j")["allocators"][0]["runs"], 1)
        self.left_nothing_behind()

    def test_a_reader_that_goes_away_leaves_no_temporary_files(self):
        # The program itself must still die of SIGPIPE, as `yes | head` relies on.
        self.ashlar("compare --only system -n 3 --show-output -- /bin/sh -c", "kill -PIPE $$; exit 3", status=None,
                    out="killed by SIGPIPE")
        subprocess.run(f"'{COMMAND}' compare --only system -n 3 -- true 2>&1 | true", shell=True, check=True,
                       env={**os.environ, "TMPDIR": self.path("tmp")})
        # The pipeline is over when its last member is: the command itself may take a moment more.
        wait_until(lambda: not os.listdir(self.path("tmp")), 5)
        self.left_nothing_behind()


class Run(CommandInFolder):
    """Tests that need the drop-in library."""

    def setUp(self):
        super().setUp()
        if not LIBRARY:
            self.skipTest("this build has no drop-in library")

    def test_a_report_that_does_not_fit_leaves_what_was_there(self):
        """Standard error is under the same limit, and is longer where there is no drop-in library."""
        last = '{"ashlar": "the last report"}'
        self.write("r", last)
        # 512 or 1024 bytes, as the shell likes.
        line = f"ulimit -f 1; exec '{COMMAND}' compare --only system --json='{self.path('r')}' -- true >/dev/null 2>'{self.path('err')}'"
        self.assertEqual(subprocess.run(["/bin/sh", "-c", line], check=False).returncode, 1, self.read("err"))
        self.has(self.read("err"), f"cannot write '{self.path('r')}'")
        self.assertEqual((self.read("r"), self.files()), (last, ["r"]))

    def test_the_programs_streams_are_its_own_and_the_report_is_on_standard_error(self):
        self.write("in", "some\ninput")
        said = self.ashlar(f"run -- {PROGRAM} cat", err=("  112 B ", "peak RSS"))
        self.assertEqual(said.out, "out\nsome\ninput")
        self.assertTrue(said.err.startswith("err\n"), said.err)
        self.left_nothing_behind()

    def test_the_words_of_the_program_are_passed_on_untouched(self):
        self.assertEqual(self.ashlar("run printf", "%s|", "--json", "", "--", "a b").out, "--json||--|a b|")
        self.assertEqual(self.ashlar("run -- printf %s| -- -h").out, "--|-h|")

    def test_the_end_of_the_program_is_the_end_of_the_command(self):
        for status in (0, 1, 2, 77, 126, 127, 255):
            self.ashlar(f"run -- {PROGRAM} exit {status}", status=status)
        for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV):
            self.ashlar(f"run -- {PROGRAM} raise {number}", status=-number, err=("no pool report", "peak RSS"))
            self.left_nothing_behind()
        self.ashlar(f"run -- {PROGRAM} _exit 3", status=3, err="_exit")

    def test_a_program_that_a_signal_ends_has_its_report(self):
        """Ctrl-C reaches the command and the program."""
        for number in (signal.SIGINT, signal.SIGTERM):
            for what in ("raise", "asks", "clone"):
                self.ashlar(f"run --json=r.json -- {PROGRAM} {what} {number}", status=-number,
                            err="those of the moment when the signal came")
                report = self.json("r.json")
                self.assertEqual(report["statistics_of"], "signal")
                self.assertGreaterEqual(report["statistics"]["total"]["bytes_in_use"], 1_000_000)
                self.assertEqual(report["statistics"]["command"], "cli_test_program")
                self.assertEqual(report["statistics"]["accuracy"], "batch")
                self.left_nothing_behind()
        process = self.started("ready", f"run -- {PROGRAM} hang")
        self.kill(process, signal.SIGINT)
        self.finish(process, -signal.SIGINT, err="  at peak  ")

    def test_a_signal_in_the_middle_of_an_allocation_ends_the_program(self):
        """The heap's lock may be the interrupted thread's: the end does not wait for it."""
        for i in range(20):
            process = self.started("ready", f"run -- {PROGRAM} churn")
            time.sleep(i / 1000)
            self.kill(process, signal.SIGTERM)
            self.finish(process, -signal.SIGTERM)

    def test_the_most_threads_are_told(self):
        self.ashlar(f"run --json=r.json -- {PROGRAM} threads 5", err="at most 6 threads at one time")
        self.assertEqual(self.json("r.json")["most_threads_seen"], 6)

    def test_the_end_of_the_program_is_told_though_its_report_is_not_written(self):
        """What could not be written is said; how the program ended is not known otherwise."""
        for how, status in (("exit 0", 1), ("exit 5", 5), (f"raise {signal.SIGTERM}", -signal.SIGTERM)):
            self.ashlar(f"run --json=/dev/full -- {PROGRAM} {how}", status=status,
                        err=("ashlar: cannot write '/dev/full'", "peak RSS"))

    def test_the_end_of_the_program_is_told_though_it_removes_what_it_wrote(self):
        self.ashlar("run -- /bin/sh -c", 'rm -r "$TMPDIR"/*; exit 5', status=5, err="no pool report")

    def test_a_program_without_its_interpreter_has_the_shells_status(self):
        self.write("script", "#!/no/such/interpreter\n")
        os.chmod(self.path("script"), 0o700)
        for line in ("run --", "compare --only system --"):
            self.ashlar(line, self.path("script"), status=127, err="its interpreter is missing")

    def test_hardened_is_passed_on_and_not_beside_exact(self):
        self.ashlar("run --hardened -- /usr/bin/env", out="ASHLAR_HARDEN=1\n")
        self.ashlar("run --hardened --exact -- /usr/bin/env", status=2)

    def test_json_holds_the_statistics_and_the_process(self):
        self.ashlar(f"run --exact --json=j -- {PROGRAM} exit 5", status=5)
        found = self.json("j")
        self.assertEqual((found["exit_status"], found["signal"], found["command"], found["statistics"]["accuracy"]),
                         (5, None, [PROGRAM, "exit", "5"], "exact"))
        self.assertGreater(found["process"]["peak_rss_bytes"], 0)
        peaks = [entry["peak_in_use"] for entry in found["statistics"]["classes"] if entry["block_size"] == 112]
        self.assertTrue(peaks and all(10000 <= peak < 10100 for peak in peaks), peaks)

    def test_a_report_that_cannot_be_written_is_noticed_before_the_program_runs(self):
        self.assertEqual(self.ashlar(f"run --json=/no/folder/x -- {PROGRAM}", status=2, err="/no/folder/x").out, "")

    def test_other_processes_are_counted(self):
        self.ashlar(f"run --json=j -- {PROGRAM} children 3", err="3 other processes")
        self.assertEqual(len(self.json("j")["other_processes"]), 3)
        self.left_nothing_behind()

    def test_a_library_at_a_path_that_ld_preload_cannot_express_still_works(self):
        os.mkdir(self.path("a b:c"))
        library = shutil.copy(LIBRARY, self.path("a b:c/lib.so"))
        # It was mapped each time.
        self.lacks(self.ashlar("compare -n 2 --only mine --with", f"mine={library}", "--", "/bin/sh", "-c",
                               "grep -q 'a b:c/lib.so' /proc/self/maps", out="mine").out, "exit status")
        self.environment = {"ASHLAR_MALLOC_LIB": library}
        self.ashlar(f"run -- {PROGRAM}", status=None, err="  112 B ")

    def test_ctrl_c_ends_the_program_and_the_report_still_comes(self):
        process = self.started("ready", f"run -- {PROGRAM} serve 9")
        self.kill(process, signal.SIGINT)
        self.finish(process, 9, err="  112 B ")
        self.left_nothing_behind()

    def test_a_signal_to_the_command_alone_reaches_the_program(self):
        for number, what in ((signal.SIGINT, "serve 9"), (signal.SIGTERM, "serve 9"), (signal.SIGHUP, "hang"),
                             (signal.SIGQUIT, "hang")):
            process = self.started("ready", f"run -- {PROGRAM} {what}")
            process.send_signal(number)
            self.finish(process, *((-number, (), "no pool report") if what == "hang" else (9,)))
            self.left_nothing_behind()

    def test_check_tells_a_fault_with_function_and_line_and_ends_as_the_program(self):
        self.ashlar(f"check -- {FAULTY_PROGRAM}", status=-signal.SIGABRT,
                    err=("ashlar: 1 fault in process ", "(double free), block size 100", " drop_order", " make_order",
                         "faulty_program.c:10 ("))

    def test_check_that_continues_tells_all_faults_and_fails(self):
        self.ashlar(f"check --continue --json=f.json -- {FAULTY_PROGRAM}", status=1, err="ashlar: 2 faults in process ")
        first = json.loads(self.read("f.json").splitlines()[0])
        frame = first["found"]["frames"][0]
        self.assertEqual((first["kind"], frame["function"]), ("double_free", "drop_order"))
        self.ashlar("check --log f.json --for sarif=f.sarif", status=1)
        log = self.json("f.sarif")
        results = log["runs"][0]["results"]
        self.assertEqual((log["version"], len(results)), ("2.1.0", 2), log)
        self.assertEqual((results[0]["ruleId"], results[0]["level"]), ("double_free", "error"))
        self.assertTrue(results[0]["message"]["text"])
        # An annotation has the file and the line, and its standard output nothing else.
        annotated = self.ashlar("check --log f.json --for=github", status=1).out
        self.assertTrue(annotated.startswith("::error ") and annotated.count("\n") == 2, annotated)
        place = results[0]["locations"][0]["physicalLocation"]
        self.assertEqual((frame["line"], place["region"]["startLine"]), (10, 10), place)
        self.assertTrue(place["artifactLocation"]["uri"].endswith("/faulty_program.c"), place)
        self.has(annotated, "faulty_program.c,line=10,title=ashlar double_free::")
        for _ in range(2):  # it is replaced as any other output
            self.ashlar("check --log f.json --for junit=f.xml", status=1)
        self.has(self.read("f.xml"), '<testsuite name="ashlar check" tests="2" failures="2"')
        for options, message in (("--for pdf", "--for 'pdf': the formats are sarif, junit and github"),
                                 ("--for benchmark", "--for 'benchmark': the formats are sarif, junit and github"),
                                 ("--for junit=", "--for junit=: a file's name is missing"),
                                 ("--for junit --json", "--for and --json write the same"),
                                 ("--for junit=none/f.xml", "--for none/f.xml: cannot write there: ")):
            self.ashlar(f"check --log f.json {options}", status=2, err=message)
        self.ashlar("check --log f.json", status=1, out=(" drop_order", "bytes behind the block were overwritten"))

    def test_check_of_a_program_without_faults_ends_as_the_program(self):
        self.ashlar(f"check -- {FAULTY_PROGRAM} none", status=3, err="no fault was seen")

    def test_compare_marks_an_allocator_whose_runs_fail(self):
        self.ashlar(f"compare -n 2 --only system,ashlar -- {PROGRAM} only-system", status=1,
                    out=("failed: ashlar: 3 of 3 runs", "    err\n"))

    def test_compare_does_not_write_over_a_library(self):
        library = shutil.copy(LIBRARY, self.path("lib.so"))
        self.ashlar(f"compare --with mine={library} --json={library} -- {PROGRAM}", status=2, err="is an input")
        self.assertEqual(os.path.getsize(library), os.path.getsize(LIBRARY))

    def test_compare_knows_the_library_of_its_build(self):
        self.ashlar("compare --list", out="ashlar\t" + os.path.realpath(LIBRARY))


if __name__ == "__main__":
    main()
