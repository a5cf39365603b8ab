#!/usr/bin/env python3
"""`ashlar export`: the call stacks of a recording, for pprof and for flame graph tools; and names that a trace keeps.

Given: command; leak, other, older_shop, newer_shop: programs.
"""
import os
import resource
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main  # pylint: disable=wrong-import-position

LEAK = GIVEN["leak"]
SERVE = "shop::serve(int, bool)"
SYMBOLS = "export --symbols run.atrace"


class Export(CommandInFolder):
    def record(self, options="--stacks"):
        self.ashlar(f"record -o run.atrace {options} -- {LEAK}")

    def exported(self, options, name):
        self.ashlar(f"export {options} -o {name} run.atrace")
        return self.read(name)

    def test_a_recording_becomes_folded_stacks(self):
        self.record()
        self.has(self.exported("--format folded --figure inuse_space", "run.folded"), ";main;", SERVE)

    def test_a_recording_becomes_a_profile_for_speedscope(self):
        """What the published schema requires of a file, of its frames and of a sampled profile."""
        self.record()
        for figure, unit in (("peak_space", "bytes"), ("alloc_objects", "none"), ("lifetime", "nanoseconds")):
            self.exported(f"--format speedscope --figure {figure}", f"{figure}.json")
            file = self.json(f"{figure}.json")
            self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
            names = [frame["name"] for frame in file["shared"]["frames"]]
            self.assertTrue(all(names))
            profile, = file["profiles"]
            self.assertEqual([profile[name] for name in ("type", "name", "unit")], ["sampled", figure, unit])
            self.assertTrue(len(profile["samples"]) == len(profile["weights"]) > 0)
            self.assertIn("main", [names[number] for sample in profile["samples"] for number in sample])
            self.assertEqual(profile["endValue"], profile["startValue"] + sum(profile["weights"]))

    def test_a_recording_becomes_a_file_for_dhats_viewer(self):
        """What dh_view.js of Valgrind demands: its fields, frames that are there, and no calls twice."""
        self.record()
        for _ in range(2):  # it is replaced as any other output
            self.exported("--format dhat", "run.dhat")
        file = self.json("run.dhat")
        for name in ("mode", "verb", "tu", "Mtu", "cmd"):
            self.assertTrue(isinstance(file[name], str) and file[name], name)
        self.assertEqual([file[name] for name in ("dhatFileVersion", "bklt", "bkacc")], [2, True, False])
        self.assertGreater(file["pid"], 0)
        self.assertGreater(file["tuth"], 0)
        self.assertLessEqual(file["tg"], file["te"])
        frames, points = file["ftbl"], file["pps"]
        self.assertEqual(frames[0], "[root]")
        self.assertEqual(len({tuple(point["fs"]) for point in points}), len(points))
        self.assertTrue(any(frames[number].startswith("main in ") for point in points for number in point["fs"]))
        for point in points:
            self.assertTrue(point["tb"] >= point["mb"] >= max(point["gb"], point["eb"]), point)
            self.assertGreaterEqual(point["tbk"], max(point[name] for name in ("mbk", "gbk", "ebk")), point)
            self.assertLessEqual(point["tl"], point["tbk"] * (file["te"] + 1))
        report = self.ashlar("report --text --json run.atrace").json()
        self.assertEqual([sum(point[name] for point in points) for name in ("gb", "tbk", "eb")],
                         [report["peak"]["bytes"], report["births"], report["live_at_end"]["bytes"]])
        self.ashlar("export --format dhat --figure peak_space run.atrace", status=2)

    def test_a_recording_becomes_a_profile(self):
        self.record()
        self.has(self.exported("", "run.pb"), SERVE, "alloc_objects")

    def test_a_recording_becomes_a_time_line(self):
        self.record()
        self.has(self.exported("--format perfetto", "run.json"), '"name":"live bytes","ph":"C"', "held: shop::make_order(int) in planted_leak at ")
        self.ashlar("export --format perfetto --figure alloc_space run.atrace -o other.json", status=2,
                    err="--figure is for pprof and folded stacks")
        self.record("--no-stacks")  # without calls there are live bytes still
        self.lacks(self.exported("--format perfetto", "run.json"), "held: ")

    def test_an_annotation_is_at_the_line_of_the_program(self):
        """Not at a line of the standard library, which no pull request has."""
        self.record()
        self.ashlar("record --stacks -o none.atrace -- /bin/true")
        for line in ("leaks --trace run.atrace --for=github", "diff none.atrace run.atrace --for=github"):
            self.lacks(self.ashlar(line, out="/planted_leak.cpp,line=17,title=ashlar ").out, "/new_allocator.h")

    def test_what_cannot_be_exported_is_named(self):
        self.ashlar("export none.atrace -o run.pb", status=2, err="none.atrace")
        self.record("--no-stacks")
        said = self.ashlar("export run.atrace -o run.pb", status=2).err
        self.assertEqual(said, "ashlar: 'run.atrace' has no calls to export: record it without --no-stacks\n")
        self.assertEqual(self.files(), ["run.atrace"])
        self.ashlar("export run.atrace -o run.atrace", status=2)


class Symbols(CommandInFolder):
    """A trace with names in it, and each command that reads such a trace when the program is gone or was built again."""

    def setUp(self):
        super().setUp()
        self.build(LEAK)

    def build(self, program):
        """What is at the program's place from now on; None: nothing."""
        if os.path.exists(self.path("program")):
            os.remove(self.path("program"))
        if program:
            shutil.copy(program, self.path("program"))

    def record(self, trace="run.atrace", options="--stacks"):
        return self.ashlar(f"record -o {trace} {options} --", self.path("program")).err

    def stat(self, trace="run.atrace"):
        return {name: value for name, value in self.ashlar(f"report --text --json --rows 100 {trace}").json().items() if name != "file"}

    def test_every_command_reads_the_names_where_the_program_was_built_again_or_is_gone(self):
        self.record()
        before = self.stat()
        self.has(str(before), SERVE + " in program")
        self.ashlar(SYMBOLS, err=("ashlar: run.atrace: ", " calls have names, "))
        self.assertEqual(self.stat(), before, "nothing but where the names come from has changed")
        lines = ("report --text run.atrace", "report --json run.atrace", "leaks --trace run.atrace", "diff run.atrace run.atrace",
                 "export --format=text run.atrace", "tune run.atrace", "replay -n 1 run.atrace", "tune profile -o run.aprof run.atrace")
        said = [self.ashlar(line).out for line in lines]
        for program in (GIVEN["other"], None):
            self.build(program)
            self.assertEqual(self.stat(), before)
            for line, what in zip(lines, said):
                now = self.ashlar(line)
                self.lacks(now.err, "program")
                if not line.startswith("replay"):  # which measures
                    self.assertEqual(now.out, what, line)

    def test_diff_names_the_sites_of_an_older_build_at_the_same_place(self):
        self.build(GIVEN["older_shop"])
        self.record("before.atrace", "--symbols")
        self.build(GIVEN["newer_shop"])
        self.record("after.atrace")
        self.lacks(self.ashlar("diff --json=d.json before.atrace after.atrace").err, "is another build")
        states = {site["frames"][0].partition(" ")[0]: site["state"] for site in self.json("d.json")["call_sites"]}
        self.assertEqual({name: states.get(name) for name in ("make_order", "add_index", "drop_note")},
                         {"make_order": "in both", "add_index": "new", "drop_note": "gone"})

    def test_record_puts_them_in_at_once(self):
        self.has(self.record("at_once.atrace", "--symbols"), "calls have names")
        self.record("later.atrace")
        self.build(None)
        self.has(str(self.stat("at_once.atrace")), SERVE + " in program")
        self.lacks(str(self.stat("later.atrace")), "shop::serve")

    def test_a_trace_that_has_them_stays_as_it_is_and_gets_what_came_since(self):
        subprocess.run(["strip", "-o", self.path("program"), LEAK], check=True)
        self.has(self.record(options="--symbols"), "program (compile it with -g)")
        self.lacks(str(self.stat()), "shop::serve")
        first = self.read("run.atrace")
        self.ashlar(SYMBOLS, status=None, err="; it stays as it was\n")
        self.assertEqual(self.read("run.atrace"), first)
        self.build(LEAK)  # the same build id, with debug information
        self.ashlar(SYMBOLS)
        self.build(GIVEN["other"])
        self.has(str(self.stat()), SERVE + " in program")

    def test_what_cannot_be_named_is_told_once(self):
        self.record()
        self.build(None)
        said = self.ashlar(SYMBOLS, err="program' is gone, so its calls are offsets: put it back, or record again (--symbols ").err
        self.assertEqual(said.count("program'"), 1, said)

    def test_another_file_is_written_with_minus_o(self):
        self.record("a.atrace")
        before = self.read("a.atrace")
        self.ashlar("export --symbols a.atrace -o named.atrace")
        self.assertEqual(self.read("a.atrace"), before)
        shutil.copy(self.path("a.atrace"), self.path("b.atrace"))
        self.ashlar("export --symbols a.atrace b.atrace")
        for name in "ab":
            self.assertEqual(self.read(f"{name}.atrace"), self.read("named.atrace"))
        self.write("notes.txt", "no trace")
        self.ashlar("export --symbols a.atrace -o notes.txt", status=2, err="notes.txt")
        self.assertEqual(self.read("notes.txt"), "no trace")
        self.ashlar("export --symbols a.atrace b.atrace -o c.atrace", status=2, err="without -o")

    def test_a_trace_that_was_cut_keeps_what_it_has(self):
        self.record()
        held = self.stat()["held_at_end"]
        self.cut("run.atrace", 5)
        self.ashlar(SYMBOLS, err="the trace ends without its end")
        self.build(None)
        self.assertEqual(self.stat()["held_at_end"], held)

    def test_what_is_no_trace_or_has_no_calls_is_refused_and_stays(self):
        self.record("plain.atrace", "--no-stacks")
        self.record("damaged.atrace")
        self.damage("damaged.atrace", 1)
        self.write("text.txt", "no trace")
        self.write("empty", "")
        os.mkdir(self.path("folder"))
        for file, told in (("plain.atrace", "'plain.atrace' has no calls to name: record it without --no-stacks"),
                           ("damaged.atrace", "damaged.atrace: at byte "), ("text.txt", "text.txt: at byte 0: this is no trace of ashlar's"),
                           ("empty", "empty: at byte 0: the file is empty"), ("gone.atrace", "gone.atrace"), ("folder", "folder")):
            before = self.read(file)
            self.refused(told, f"export --symbols {file}")
            self.assertEqual(self.read(file), before, file)

    def test_where_the_disk_is_full_the_trace_stays(self):
        self.record()
        before = self.read("run.atrace")

        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(self.path("run.atrace")) // 2, resource.RLIM_INFINITY))

        self.ashlar(SYMBOLS, status=2, err="cannot write 'run.atrace'", before=limit_files)
        self.assertEqual(self.read("run.atrace"), before)
        self.assertEqual(self.files(), ["program", "run.atrace"], "nothing half-written is left")


if __name__ == "__main__":
    main()
