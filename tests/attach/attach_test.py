"""`ashlar record -p`: what it records, that the process does not notice, and what it says where it cannot.

Run: attach_test.py COMMAND RECORDER PROGRAMS_FOLDER ATTACHES
"""

import concurrent.futures
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from processes import NOBODY, CommandTest, Talking, read, run_together, wait_until  # pylint: disable=wrong-import-position

COMMAND, RECORDER, PROGRAMS = sys.argv[1:4]
ATTACHES = int(sys.argv[4])  # of the test that the program computes the same
SKIPPED = 77


def program(name):
    return os.path.join(PROGRAMS, name)


class Recording:
    """The command, until it is told to end."""

    def __init__(self, pid, trace, *options):
        self.process = subprocess.Popen([COMMAND, "record", "-p", str(pid), "-o", trace, *options],
                                        stderr=subprocess.PIPE, text=True)
        self.trace = trace

    def wait_until_attached(self, pid):
        # The memory is mapped by the call that begins.
        if wait_until(lambda: self.process.poll() is not None or "memfd:ashlar-record" in read(f"/proc/{pid}/maps")) and \
                self.process.poll() is None:
            time.sleep(0.6)  # until it has begun, also on a busy machine
            return self
        raise AssertionError(self.process.communicate())

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.finish()

    def finish(self):
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


class AttachTest(CommandTest):
    command = COMMAND

    def setUp(self):
        super().setUp()
        self.trace = self.path("run.atrace")

    def figures_of(self, trace):
        figures = json.loads(self.done("report", "--text", "--json", trace))
        figures["live_blocks"] = figures["live_at_end"]["blocks"]
        figures["live_bytes"] = figures["live_at_end"]["bytes"]
        return figures

    def planted(self, *words, **options):
        made = self.start(words, **options)
        self.assertEqual(made.stdout.readline(), "ready\n")
        return made

    def record(self, planted, *options):
        return Recording(planted.pid, self.trace, *options).wait_until_attached(planted.pid)

    def records(self, planted, blocks):
        """A recording that begins now has so many blocks."""
        recording = self.record(planted)
        planted.ask(f"leak {blocks}")
        status, errors = recording.end()
        self.assertEqual(status, 0, errors)
        self.assertEqual(self.figures_of(self.trace)["live_blocks"], blocks)

    def refusal(self, pid, *options, **more):
        result = self.ashlar("record", "-p", pid, "-o", self.trace, *options, **more)
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("ashlar: "), result.stderr)
        self.assertFalse(os.path.exists(self.trace))
        return result.stderr

    def records_exactly(self, name):
        planted = self.planted(program(name))
        planted.ask("leak 50")
        recording = self.record(planted, "--stacks")
        planted.ask("leak 30")
        planted.ask("free")
        status, errors = recording.end()
        self.assertEqual(status, 0, errors)
        self.assertIn("goes on as before", errors)
        self.assertEqual(planted.ask("leak 20"), "done")
        planted.tell("end")
        self.assertEqual(planted.end(), (7, "", ""))
        figures = self.figures_of(self.trace)
        self.assertEqual(figures["header"]["attached"], "1")
        self.assertEqual(figures["unknown_deaths"], 100)
        self.assertEqual((figures["live_blocks"], figures["live_bytes"]), (30, 30_000))
        text = self.ashlar("report", "--text", self.trace).stdout
        self.assertIn("attached", text)
        leaks = self.ashlar("leaks", "--trace", self.trace)
        self.assertIn("30 blocks", leaks.stdout)
        self.assertIn("lose", leaks.stdout)
        self.assertEqual(self.ashlar("report", "--text", self.trace).returncode, 0)
        self.assertEqual(
            self.ashlar("report", "-o", self.path("r.html"), self.trace).returncode, 0)

    def test_records_what_happens_meanwhile(self):
        self.records_exactly("attach_planted")

    def test_slots_that_are_read_only(self):
        self.records_exactly("attach_planted_now")

    def test_nothing_is_recorded_behind_the_end(self):
        planted = self.planted(program("attach_planted"))
        for count in (10, 20):
            recording = self.record(planted)
            planted.ask(f"leak {count}")
            self.assertEqual(recording.end(signal.SIGTERM)[0], 0)
            planted.ask("leak 5")
            self.assertEqual(self.figures_of(self.trace)["live_blocks"], count)

    def test_seconds(self):
        planted = self.planted(program("attach_planted"))
        before = time.monotonic()
        result = self.ashlar("record", "-p", planted.pid, "--seconds", 1, "-o", self.trace)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(time.monotonic() - before, 1)
        self.assertEqual(self.figures_of(self.trace)["unknown_deaths"], 0)

    def test_process_that_ends(self):
        planted = self.planted(program("attach_planted"))
        recording = self.record(planted)
        planted.ask("leak 12")
        planted.tell("end")
        # It stays a zombie until we look.
        status, errors = recording.finish()
        self.assertEqual(status, 0, errors)
        self.assertIn("has ended", errors)
        self.assertEqual(self.figures_of(self.trace)["live_bytes"], 12_000)
        self.assertEqual(planted.wait(), 7)

    def test_process_that_is_killed(self):
        planted = self.planted(program("attach_planted"))
        recording = self.record(planted)
        planted.ask("leak 12")
        planted.kill()
        self.assertEqual(recording.finish()[0], 0)
        self.assertEqual(self.figures_of(self.trace)["live_bytes"], 12_000)

    def test_recorder_that_is_killed(self):
        planted = self.planted(program("attach_planted"))
        recording = self.record(planted)
        recording.process.kill()
        recording.process.communicate()
        self.assertEqual(planted.ask("leak 1"), "done")
        self.records(planted, 3)

    def test_computes_the_same(self):
        words = [program("attach_service"), program("libattach_plugin.so")]
        plain = self.planted(*words)
        time.sleep(1)
        expected = plain.end()
        self.assertIn("wrong 0 interrupted 0 signals all", expected[1])
        service = self.planted(*words)
        for number in range(ATTACHES):
            trace = self.path("service.atrace")
            recording = Recording(service.pid, trace, *([] if number % 2 else ["--no-stacks"]))
            recording.wait_until_attached(service.pid)
            time.sleep(0.02)
            status, errors = recording.end()
            self.assertEqual(status, 0, errors)
            self.assertIn("goes on as before", errors)
            if number % 10 == 0:
                self.assertEqual(self.figures_of(trace)["lost"], 0)
        self.assertEqual(service.end(), expected)

    def wait_in(self, call):
        """Returns: what a program says of the call, undisturbed; and of the same call beside a recording."""
        plain = self.planted(program("attach_waits"), call)
        planted = self.planted(program("attach_waits"), call)
        time.sleep(0.4)
        recording = Recording(planted.pid, self.path(f"{call}.atrace"))
        try:
            recording.wait_until_attached(planted.pid)
        except AssertionError as refusal:
            return [each.end()[1].split() for each in (plain, planted)] + [str(refusal)]
        status, errors = recording.end()
        is_said = status == 0 and "goes on as before" in errors
        return [each.end()[1].split() for each in (plain, planted)] + ["" if is_said else errors]

    def test_waits_go_on(self):
        calls = subprocess.run([program("attach_waits")], check=True, capture_output=True,
                               text=True).stdout.split()
        self.assertGreater(len(calls), 25)
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            results = dict(zip(calls, pool.map(self.wait_in, calls)))
        # Where the machine was so busy that a call had ended before the recording began, once more by itself.
        results |= {call: self.wait_in(call) for call, told in results.items() if "is gone" in told[2] or "has ended" in told[2]}
        for call, (plain, recorded, errors) in results.items():
            with self.subTest(call=call):
                self.assertEqual(errors, "")
                self.assertEqual(recorded[:2], plain[:2])
                self.assertGreater(float(recorded[2]), 3.98)
                # The system keeps the timeout of a socket, and nobody else can shorten it for a call.
                late = 4.3 if call in ("recv_timeout", "accept_timeout") else 0
                self.assertLess(float(recorded[2]), float(plain[2]) + 0.6 + late)

    def test_calls(self):
        traces = [self.path(name) for name in ("a.atrace", "b.atrace")]
        result = subprocess.run([program("attach_own_calls"), RECORDER, *traces], check=False,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result)
        for number, trace in enumerate(traces):
            sizes = {each["size"]: each for each in self.figures_of(trace)["sizes"]}
            self.assertEqual(sizes[77]["births"], 1000 * (number + 1))
            self.assertEqual(sizes[777]["births"], 1)
            self.assertNotIn(88, sizes)
            text = subprocess.run([COMMAND, "export", "--format=text", trace], check=True, capture_output=True, text=True, timeout=60).stdout
            # The last word of "TIME THREAD untouched ADDRESS BYTES".
            untouched = [int(line.split()[-1]) for line in text.splitlines() if " untouched " in line]
            self.assertEqual(len(untouched), 1)
            self.assertGreater(untouched[0], 900_000)

    def test_library_that_the_process_does_not_see(self):
        copied = self.path("libashlar-record.so")
        shutil.copy(RECORDER, copied)
        planted = self.planted(program("attach_planted"), preexec_fn=None)
        os.rename(copied, copied + ".gone.so")
        environment = {**os.environ, "ASHLAR_RECORD_LIB": copied + ".gone.so"}
        recording = subprocess.Popen(
            [COMMAND, "record", "-p", str(planted.pid), "-o", self.trace, "--seconds", "1"],
            env=environment, stderr=subprocess.PIPE, text=True)
        _, errors = recording.communicate(timeout=60)
        self.assertEqual(recording.returncode, 0, errors)

    def test_addresses_are_given_back(self):
        planted = self.planted(program("attach_planted"))

        def addresses():
            with open(f"/proc/{planted.pid}/status", encoding="utf-8") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmSize:"))

        before = addresses()
        for blocks in (3, 5):
            recording = self.record(planted)
            self.assertGreater(addresses() - before, 2 << 20)  # KiB
            planted.ask(f"leak {blocks}")
            self.assertEqual(recording.end()[0], 0)
            self.assertEqual(self.figures_of(self.trace)["live_blocks"], blocks)
        self.assertLess(addresses() - before, 64 << 10)

    # ---- what is in the way --------------------------------------------------------------------

    def test_second_attach(self):
        planted = self.planted(program("attach_planted"))
        recording = self.record(planted)
        other = self.path("other.atrace")
        result = self.ashlar("record", "-p", planted.pid, "-o", other)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is being recorded already: end that first", result.stderr)
        planted.ask("leak 4")
        self.assertEqual(recording.end()[0], 0)
        self.assertEqual(self.figures_of(self.trace)["live_blocks"], 4)

    def test_program_that_is_recorded_from_its_start(self):
        whole = self.path("whole.atrace")
        recorded = self.planted(COMMAND, "record", "-o", whole, "--", program("attach_planted"))
        with open(f"/proc/{recorded.pid}/task/{recorded.pid}/children", encoding="utf-8") as file:
            child = int(file.read().split()[0])
        self.assertIn("is being recorded already", self.refusal(child))

    def test_static_program(self):
        planted = self.planted(program("attach_planted_static"))
        self.assertIn("is linked statically", self.refusal(planted.pid))

    def test_no_process(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assertIn("there is no process", self.refusal(gone.pid))

    def test_zombie(self):
        zombie = subprocess.Popen(["true"])
        self.addCleanup(zombie.wait)
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        self.assertIn("has ended", self.refusal(zombie.pid))

    def test_stopped_process(self):
        planted = self.planted(program("attach_planted"))
        os.kill(planted.pid, signal.SIGSTOP)
        time.sleep(0.1)
        self.assertIn(f"kill -CONT {planted.pid}", self.refusal(planted.pid))
        os.kill(planted.pid, signal.SIGCONT)

    def test_kernel_thread(self):
        if not os.path.exists("/proc/2/status"):
            self.skipTest("no kernel threads are seen here")
        self.assertRegex(self.refusal(2), "no memory of its own|another user")

    def test_traced_process(self):
        gdb = shutil.which("gdb")
        if gdb is None:
            self.skipTest("no gdb")
        planted = self.planted(program("attach_planted"))
        with subprocess.Popen([gdb, "-q", "-nx", "-p", str(planted.pid)], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as debugger:
            wait_until(lambda: f"TracerPid:\t{debugger.pid}\n" in read(f"/proc/{planted.pid}/status"))
            self.assertIn("is traced by process", self.refusal(planted.pid))
            debugger.communicate(b"detach\nquit\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_another_user(self):
        planted = self.planted(program("attach_planted"))
        place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, place)
        os.chmod(place, 0o777)
        self.trace = os.path.join(place, "run.atrace")
        text = self.refusal(planted.pid, user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertIn("belongs to another user (number 0)", text)

    @unittest.skipUnless(os.geteuid() == 0, "only root attaches to another user's process")
    def test_process_of_another_user(self):
        planted = self.planted(program("attach_planted"), user=NOBODY, group=NOBODY, extra_groups=[])
        self.records(planted, 6)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_another_tree_of_files(self):
        hides = f"mount -t tmpfs none {os.path.dirname(RECORDER)} && exec {program('attach_planted')}"
        try:
            planted = self.planted("unshare", "--mount", "sh", "-c", hides)
        except AssertionError:
            self.skipTest("the system makes no namespace")
        self.records(planted, 6)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_container(self):
        with subprocess.Popen(["unshare", "--pid", "--fork", program("attach_planted")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
            if outer.stdout.readline() != "ready\n":
                self.skipTest("the system makes no namespace")
            with open(f"/proc/{outer.pid}/task/{outer.pid}/children", encoding="utf-8") as file:
                child = int(file.read().split()[0])
            self.assertIn("is in a container", self.refusal(child))
            outer.communicate("end\n")

    def test_no_address_space(self):
        limit = 300 << 20
        planted = self.planted(program("attach_planted"),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertIn("no address space for recording", self.refusal(planted.pid))
        self.assertEqual(planted.ask("leak 1"), "done")

    def test_words_that_do_not_go_together(self):
        for words in (["-p", "1", "--", "true"], ["--seconds", "3", "--", "true"], ["-p", "0"],
                      ["-p", "1", "-o", "x.atree"], ["-p", "1", "--only", "true"],
                      ["-p", "abc"]):
            result = self.ashlar("record", *words, cwd=self.folder)
            self.assertEqual(result.returncode, 2, (words, result))
            self.assertEqual(os.listdir(self.folder), [])


def may_trace():
    """Whether a process may trace one that is not its child."""
    with tempfile.TemporaryDirectory() as folder, Talking([program("attach_planted")]) as planted:
        planted.stdout.readline()
        result = subprocess.run([COMMAND, "record", "-p", str(planted.pid), "--seconds", "1", "-o", os.path.join(folder, "run.atrace")],
                                capture_output=True, text=True, check=False)
        planted.tell("end")
    forbidden = any(word in result.stderr for word in ("ptrace_scope", "the system forbids"))
    if forbidden:
        print(result.stderr)
    return not forbidden


if __name__ == "__main__":
    if not may_trace():
        sys.exit(SKIPPED)
    run_together(2, sys.argv[5:])
