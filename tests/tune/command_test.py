#!/usr/bin/env python3
"""ashlar tune, its parts verify, check and profile, as a user meets them: arguments in; streams, files and exit status out.

Given: command, sample: a trace; has_drop_in, to run something on the heap's classes.
"""
import json
import os
import pathlib
import random
import shutil
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from command_in_folder import GIVEN, CommandInFolder, main  # pylint: disable=wrong-import-position

SAMPLE = GIVEN["sample"]
HAS_DROP_IN = GIVEN["has_drop_in"] == "1"
SECONDS = "ashlar-trace-text 1\nheader ticks_per_second 1000\n"


class CommandWithTraces(CommandInFolder):
    def trace_of(self, text, name):
        self.write("t.txt", text)
        self.ashlar(f"export --from-text t.txt -o {name}")


class Tune(CommandWithTraces):
    def write_json(self, name, value):
        self.write(name, json.dumps(value))

    def claimed_in(self, certificate):
        """The classes and all that is claimed of them, but for where they come from."""
        return {name: value for name, value in self.json(certificate).items() if name not in ("inputs", "moments", "seal", "claim")}

    def test_writes_a_header_and_a_certificate_that_is_true(self):
        self.has(self.says(f"tune -o p.hpp {SAMPLE}"), "<-")
        made = self.json("p.json")
        self.has(self.read("p.hpp"), str(made["total_bytes"]), made["inputs"][0]["sha256"])
        self.lacks(self.says("tune verify p.json"), "was recorded")
        shutil.copy(SAMPLE, self.path("moved"))
        self.ashlar("tune verify p.json moved")
        self.ashlar(f"tune check --against p.json {SAMPLE}")
        self.assertEqual(len(self.files()), 3, "a temporary file was left")

    def test_the_same_trace_gives_the_same_files(self):
        for name in "ab":
            self.ashlar(f"tune --classes 3 -o {name}.hpp {SAMPLE}")
        for kind in ("hpp", "json"):
            self.assertEqual(self.read(f"a.{kind}"), self.read(f"b.{kind}"))

    def test_a_profile_gives_what_its_trace_gives(self):
        traces = [SAMPLE]
        if HAS_DROP_IN:
            self.ashlar("record -o run.atrace --", sys.executable, "-c", "print(dir())")
            traces.append("run.atrace")
        for trace in traces:
            self.ashlar(f"tune profile -o run.aprof {trace}")
            for options in ("", "--classes 4 --margin 10", "--align 64 --largest 2000"):
                self.ashlar(f"tune --resolution profile --certificate t.json {options} {trace}")
                self.has(self.says(f"tune -o p.hpp {options} run.aprof"), "as profiles tell them apart")
                self.assertEqual(self.claimed_in("p.json"), self.claimed_in("t.json"), options)
                self.ashlar(f"tune --certificate b.json {options} {trace} run.aprof")
                self.assertEqual(self.claimed_in("b.json"), self.claimed_in("t.json"), options)
                for certificate in ("t.json", "p.json", "b.json"):
                    self.ashlar(f"tune verify {certificate}")
                self.ashlar(f"tune check --against p.json {trace} run.aprof")
                self.ashlar("tune check --percent 50 --against p.json run.aprof", status=1)
            for certificate, source in (("t.json", trace), ("p.json", "run.aprof")):
                self.ashlar(f"tune --mode heap --certificate {certificate} {source}")
            self.assertEqual(self.claimed_in("p.json"), self.claimed_in("t.json"))

    def test_what_a_profile_does_not_have_is_refused(self):
        self.ashlar(f"tune profile -o run.aprof {SAMPLE}")
        self.refused("--resolution exact", "tune --resolution exact run.aprof")
        self.refused("--resolution: 'coarse'", f"tune --resolution coarse {SAMPLE}")
        self.refused("--resolution", "tune --mode heap --resolution profile run.aprof")
        self.damage("run.aprof", 1, to="damaged")
        self.refused("damaged", "tune -o d.hpp damaged")

    def test_stat_tells_of_a_profile_what_it_tells_of_its_trace(self):
        self.ashlar(f"tune profile -o run.aprof {SAMPLE}")
        traced = self.ashlar(f"report --text --json {SAMPLE}").json()
        profiled = self.ashlar("report --text --json run.aprof").json()
        for name in ("births", "birth_bytes", "deaths", "unknown_deaths"):
            self.assertEqual(profiled[name], traced[name], name)
        for name in ("bytes", "blocks"):
            self.assertEqual(profiled["peak"][name], traced["peak"][name], name)
        for name in ("births", "deaths"):
            self.assertEqual(sum(size[name] for size in profiled["sizes"]), profiled[name])
        self.assertEqual(sum(row["blocks"] for row in profiled["lifetimes"]), profiled["deaths"])
        self.assertEqual(profiled["runs"], 1)
        self.has(self.says("report --text --rows 3 run.aprof"), "1 in", "births", "of one run", "size up to", ">= 1.07 s")

    def test_check_tells_what_a_profile_cannot(self):
        """Pools of exact sizes: a step of the profile's sizes may be of two classes."""
        self.ashlar(f"tune profile -o run.aprof {SAMPLE}")
        self.ashlar(f"tune --classes 8 --align 8 -o p.hpp {SAMPLE}")
        made = self.json("p.json")
        classes = made["classes"]
        self.assertEqual(classes[6]["block_size"], 576)
        for number, name, value, status, parts in (
                (6, "block_size", 568, 1, ("perhaps too many", "--resolution profile")),  # of 545 to 576, which are one size of a profile
                (7, "capacity", 1000, 0, ("at most",)),
                (7, "block_size", 700, 1, ("no class serves", "--resolution profile"))):  # of 673 to 704
            classes[number][name] = value
            self.write_json("p.json", made)
            self.has(self.says("tune check --against p.json run.aprof", status=status), *parts)

    def test_heap_mode_writes_classes_that_the_drop_in_library_takes(self):
        self.ashlar(f"tune --mode heap -o c.classes --certificate c.json {SAMPLE}")
        made = self.json("c.json")
        self.assertLessEqual(sum(made["slack_bytes"][when] for when in ("at_peak", "over_time")),
                             sum(made["standard_slack_bytes"][when] for when in ("at_peak", "over_time")) + 88 * 12 * 1024)
        self.assertEqual(made["block_sizes"][-1], 131072)
        if HAS_DROP_IN:
            self.environment = {"ASHLAR_CONFIG": self.path("c.classes")}
            ran = self.says("run --json=run.json -- /bin/echo served")
            self.has(ran, "served")
            self.lacks(ran, "is ignored")
            self.environment = {"ASHLAR_CONFIG": self.path("c.json")}
            self.has(self.says("run -- /bin/echo served"), "is ignored")
            self.environment = {}
            for used in self.json("run.json")["statistics"]["classes"]:
                self.assertIn(used["block_size"], made["block_sizes"])
        self.ashlar(f"tune --mode heap -o c.hpp {SAMPLE}")
        self.has(self.read("c.hpp"), f"block_sizes[{len(made['block_sizes'])}]")

    def test_heap_mode_refuses_what_is_of_capacities(self):
        for options, named in (("--mode other", "'other' is none of static, heap"), ("--mode heap --margin 5", "--margin"),
                               ("--mode heap --classes 13", "14"),
                               ("--mode heap --classes 89", "88"), ("--mode heap --weigh now", "--weigh: 'now'"),
                               ("--weigh peak", "--weigh")):
            self.refused(named, f"tune {options} {SAMPLE}")

    def test_check_tells_what_is_too_much(self):
        self.ashlar(f"tune --classes 4 --largest 300 -o p.hpp {SAMPLE}")
        check = f"tune check --against p.json {SAMPLE}"
        self.ashlar(check)
        near = self.says(check + " --percent 99", status=1)
        self.has(near, "too many")
        self.lacks(near, "cannot be told")
        self.trace_of("ashlar-trace-text 1\n1 1 malloc 0x1000 16\n", "small")
        of_small = "tune check --percent 99 --against p.json small"
        self.ashlar(of_small)
        self.ashlar(f"{of_small} {SAMPLE}", status=1)
        # The trace's larger requests count now, and no class serves them.
        self.write_json("p.json", {**self.json("p.json"), "largest": 100_000})
        self.has(self.says(check, status=1), "no class serves")

    def test_check_of_an_input_that_is_not_whole_does_not_pass(self):
        """Peaks that nobody saw: the exit status is all that a job of continuous integration looks at."""
        self.ashlar(f"tune -o p.hpp {SAMPLE}")
        check = "tune check --against p.json "
        shutil.copy(SAMPLE, self.path("cut"))
        self.cut("cut", (os.path.getsize(SAMPLE) + 1) // 2)
        self.has(self.says(check + "cut", status=1), "record again")
        self.ashlar(f"{check} cut {SAMPLE}", status=1)
        self.ashlar("tune profile -o cut.aprof cut")
        self.ashlar(check + "cut.aprof", status=1)
        self.trace_of(SECONDS + "1 1 malloc 0x1000 16\n2 1 lost 7\n", "lost")
        self.has(self.says(check + "lost", status=1), "7 events were lost")

    def test_pools_that_somebody_changed_to_what_cannot_be_are_refused(self):
        self.ashlar(f"tune --classes 3 -o p.hpp {SAMPLE}")
        made = self.json("p.json")
        made["classes"][:2] = made["classes"][1::-1]
        self.write_json("swapped.json", made)
        self.refused("not sorted", f"tune check --against swapped.json {SAMPLE}")
        self.refused("not sorted", f"replay --on swapped.json {SAMPLE}")
        self.ashlar(f"tune --mode heap --certificate heap.json {SAMPLE}")
        self.refused("--mode heap", f"tune check --against heap.json {SAMPLE}")
        self.refused("static pools", "tune verify heap.json")

    def test_bad_input_is_named_and_nothing_is_written(self):
        self.write("empty", "")
        self.write("foreign", "int main() {}\n")
        shutil.copy(SAMPLE, self.path("damaged"))
        self.damage("damaged", 1)
        folder = self.folder + "/"
        for line, named in (("none", "none"), ("empty", "empty"), ("foreign", "no trace"), ("damaged", "at byte"), (folder, folder), ("", "TRACE")):
            self.refused(named, f"tune -o p.hpp {line}")
        for options in ("--classes 0", "--classes 1000", "--classes some", "--align 24", "--align 0"):
            self.refused(options, f"tune {options} -o p.hpp {SAMPLE}")
        for options, named in (("--budget 1000", "least possible"), ("--budget 1000 --classes 2", "least possible"),
                               ("--largest 1000000000000", "--largest"), ("--margin 99999", "--margin"), ("--margin -1", "--margin: '-1'"),
                               ("--align -8", "--align: '-8'"), ("--largest -1", "--largest: '-1'"), ("--budget -5", "--budget: '-5'"),
                               ("--budget 18446744073709551616", "2^64"), ("--budget 1.5MiB", "'1.5MiB'"), ("--mode frob", "--mode: 'frob'"),
                               ("--namespace 7up", "7up"), ("--namespace class", "'class'"), ("--namespace my::xor", "'my::xor'")):
            self.refused(named, f"tune {options} -o p.hpp {SAMPLE}")
        for line, named in ((f"-o /no/folder/p.hpp {SAMPLE}", "/no/folder/p.hpp"), (f"-o {folder} {SAMPLE}", folder), ("verify none", "none"),
                            (f"check --against none {SAMPLE}", "none"), (f"check --against foreign {SAMPLE}", "foreign"),
                            (f"check {SAMPLE}", "--against")):
            self.refused(named, f"tune {line}")

    def test_what_a_recording_lacks_is_said(self):
        """Pools that were too small when they were recorded, and a recorder that lost events: what is tuned may be too little."""
        self.trace_of("ashlar-trace-text 1\nheader options pools\nheader ticks_per_second 1000\n"
                      "1 1 pool 0x1000 40 align=8\n2 1 refused 40 messages\n2 1 refused 41 \\e\n3 1 lost 7\n", "t.atrace")
        self.assertEqual(self.says("export --format text t.atrace"), self.read("t.txt"))
        lacks = "7 events were lost, 2 requests found no block"
        self.has(self.says("tune -o p.hpp t.atrace"), lacks)
        # So does what is written, and who verifies it.
        self.has(self.read("p.hpp"), lacks)
        self.has(self.says("tune verify p.json"), "recorded: t.atrace: " + lacks)
        self.ashlar("tune --mode heap -o c.classes --certificate c.json t.atrace")
        self.has(self.read("c.classes"), lacks)
        self.assertEqual(self.json("c.json")["inputs"][0]["lost_events"], 7)
        in_pools = "requests for which a pool had no block"
        self.has(self.says("report --text t.atrace"), "2 " + in_pools)

        # Nor do profiles of it, and merged ones, forget that.
        self.ashlar("tune profile -o t.aprof t.atrace")
        self.ashlar("tune profile -o t.aprof t.aprof t.aprof")
        self.has(self.says("report --text t.aprof"), "4 " + in_pools)
        self.assertEqual(self.ashlar("report --text --json t.aprof").json()["refused"], 4)
        self.has(self.says("tune t.aprof"), "4 requests found no block")

    def test_why_no_request_is_left_is_said(self):
        """Nothing is left to choose pools for: what is missing in the trace is the reason."""
        self.trace_of(SECONDS + "1 1 free 0x1000\n2 1 free 0x2000\n", "frees")
        self.refused("no request is left", "tune frees")
        self.refused("2 blocks died that were born before the recording", "tune frees")
        self.trace_of(SECONDS + "1 1 malloc 0x1000 100\n", "large")
        self.refused("larger than --largest", "tune --largest 64 large")

    def test_a_trace_of_any_name_is_tuned(self):
        """A file may have any name; JSON is UTF-8. A backslash at its end ends no comment, to which the next line would belong."""
        for name, told in (("\udcff\udcfe.atrace", True), ("x\\", False)):
            shutil.copy(SAMPLE, self.path(name))
            for mode in ("static", "heap"):
                self.ashlar(f"tune --mode {mode} -o p.hpp", name)
                self.assertEqual((name in self.read("p.hpp"), "\\" in self.read("p.hpp")), (told, False))
        self.ashlar("tune -o p.hpp", "\udcff\udcfe.atrace")
        self.ashlar("tune verify p.json", "\udcff\udcfe.atrace")
        self.ashlar("tune --mode heap --certificate c.json", "\udcff\udcfe.atrace")

    def test_what_stood_at_the_output_stays_when_it_fails(self):
        before = "// Pools chosen by ashlar tune"
        self.write("p.hpp", before)
        self.refused("--budget 10", f"tune --budget 10 -o p.hpp {SAMPLE}")
        self.assertEqual(self.read("p.hpp"), before)

    def test_no_output_is_an_input_or_another_output(self):
        shutil.copy(SAMPLE, self.path("t.atrace"))
        os.symlink("t.atrace", self.path("link"))
        for words in ("tune -o ", "tune --certificate ", "tune --mode heap -o ", "tune --mode heap --certificate ", "report -o ",
                      "export --format text -o ", "replay --on system --json="):
            for output in ("t.atrace", "./t.atrace", "link"):
                self.refused("is an input", f"{words}{output} t.atrace")
        self.assertEqual(pathlib.Path(self.path("t.atrace")).read_bytes(), pathlib.Path(SAMPLE).read_bytes())
        self.refused("--certificate made.json", "tune -o made.json t.atrace")
        self.refused("what -o writes", "tune -o made.json --certificate made.json t.atrace")
        self.ashlar("tune --certificate made.json t.atrace")
        self.refused("is an input", "replay --on made.json --json=made.json t.atrace")
        self.ashlar("tune -o /dev/null --certificate /dev/null t.atrace")

    def test_only_a_certificate_is_replaced_beside_the_header(self):
        """Nobody named the file beside the header."""
        tune = f"tune -o notes.hpp {SAMPLE}"
        self.write("notes.json", '{"precious": 1}')
        self.refused("notes.json", tune)
        self.assertEqual(self.read("notes.json"), '{"precious": 1}')
        self.ashlar(tune + " --certificate c.json")
        self.ashlar(tune + " --force --certificate notes.json")
        self.ashlar(tune)  # it is one now
        self.write("notes.json", "")
        self.ashlar(tune)

    def test_what_standard_output_does_not_take_is_no_success(self):
        self.ashlar(f"tune --certificate p.json {SAMPLE}")
        for line in (f"report --text {SAMPLE}", f"tune {SAMPLE}", f"tune check --against p.json {SAMPLE}", "tune verify p.json",
                     f"replay -n 1 --on system {SAMPLE}", f"export --format text {SAMPLE}", f"report --json {SAMPLE}", "compare --list", "--help"):
            with open("/dev/full", "wb") as full:
                self.ashlar(line, stdout=full, status=1, err="cannot write")

    def test_verify_refuses_what_is_not_so(self):
        self.ashlar(f"tune --classes 2 -o p.hpp {SAMPLE}")
        made = self.json("p.json")
        made["total_bytes"] += 1
        self.write_json("p.json", made)
        self.has(self.says("tune verify p.json", status=1), "refused")
        for text in ("nonsense", "", "[]", "{}", "7", '{"seal": 3}'):
            self.write("none.json", text)
            self.refused("none.json: no certificate", "tune verify none.json")
        for version in ("x", None, -1, 1, 3):
            self.write_json("p.json", {**made, "certificate": version})
            self.refused("of version 2: tune again", "tune verify p.json")
        self.refused("another version", f"tune check --against p.json {SAMPLE}")


class TuneProfile(CommandWithTraces):
    def make(self, name, seed):
        """NAME.atrace, some thousand blocks of random sizes, of which some live on, and NAME.aprof."""
        chance, live, lines = random.Random(seed), [], ["ashlar-trace-text 1", "header ticks_per_second 1000000000"]
        for number in range(1, 3001):
            if not live or chance.random() < 0.6:
                live.append(number * 0x100000)
                lines.append(f"{number * 100} 1 malloc {live[-1]:#x} {chance.randrange(900 if number % 7 else 100_000)}")
            else:
                lines.append(f"{number * 100} 1 free {live.pop(chance.randrange(len(live))):#x}")
        self.trace_of("\n".join(lines) + "\n", f"{name}.atrace")
        os.remove(self.path("t.txt"))
        self.ashlar(f"tune profile {name}.atrace -o {name}.aprof")

    def told(self, name):
        return self.ashlar(f"report --text --json {name}").json()

    def test_a_profile_of_a_trace_tells_what_it_is_of(self):
        self.make("a", 1)
        told = self.told("a.aprof")
        self.assertEqual(told["runs"], 1)
        self.assertGreater(told["births"], 1000)
        self.assertGreater(told["deaths"], 500)
        self.assertEqual(len(self.files()), 2)
        before = self.read("a.aprof")
        self.has(self.says("tune profile a.atrace -o a.aprof"), "a.aprof: 1 run, 1,")
        self.assertEqual(self.read("a.aprof"), before)

    def test_traces_together_are_their_profiles_merged_to_the_byte(self):
        for seed in range(4):
            self.make(seed, seed)
        self.write("in", "3.aprof\n\n2.aprof\n1.aprof")
        self.ashlar("tune profile -o all 0.aprof 1.aprof 2.aprof 3.aprof")
        self.assertEqual(self.told("all")["runs"], 4)
        for name, of in (("traces", "0.atrace 1.atrace 2.atrace 3.atrace"), ("late", "3.aprof 1.aprof"), ("tree", "0.aprof 2.aprof late"),
                         ("listed", "0.aprof --list -"), ("late", "0.aprof 2.aprof late")):  # what is merged may be what is replaced
            self.ashlar(f"tune profile -o {name} {of}")
            self.assertEqual(self.read(name) == self.read("all"), of != "3.aprof 1.aprof", name)

    def test_a_trace_that_was_cut_is_profiled_up_to_there_with_a_warning(self):
        self.make("a", 1)
        self.cut("a.atrace", 7)
        self.has(self.says("tune profile a.atrace -o cut.aprof"), "warning")
        self.assertEqual(self.told("cut.aprof")["unfinished_runs"], 1)

    def test_bad_profiles_are_named_and_nothing_is_written(self):
        self.make("a", 1)
        was = self.read("a.aprof")
        self.damage("a.aprof", 1, to="damaged")
        self.write("empty", "")
        self.write("other", "hello\n")
        for words, named in (("-o out a.aprof damaged", "damaged: at byte"), ("-o out a.aprof empty", "empty: at byte 0: the file is empty"),
                             ("-o out a.aprof other", "other: at byte 0: this is no trace"), ("-o out a.aprof /nowhere/b.aprof", "/nowhere/b.aprof"),
                             ("-o out --list -", "no trace or profile is named"), ("a.aprof", "--output"), ("a.aprof -o /nowhere/out", "/nowhere/out"),
                             ("-o out other", "no trace"), ("a.atrace -o a.atrace", "is no profile"), ("-o out", "no trace or profile")):
            self.refused(named, f"tune profile {words}")
        self.assertEqual(self.read("a.aprof"), was)


if __name__ == "__main__":
    main()
