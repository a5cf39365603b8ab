#!/usr/bin/env python3
"""examples/fleet as its users meet it: with workers of its own, one of which is killed at work, and on a cluster.

Run: fleet_test.py ASHLAR [CASE...]      CASE as unittest names them, such as Cluster.test_record
Without Dask (scripts/setup.sh fleet) nothing is tested, and the exit status is 77.
"""
import calendar
import contextlib
import gzip
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from sample_profiles import sample_profiles

HERE = Path(__file__).resolve().parent
FLEET = HERE.parent.parent / "examples" / "fleet" / "fleet.py"
HELD_ASHLAR = HERE / "held_ashlar.sh"
PROFILES = 60
PATIENCE = 180  # seconds, for a machine that is busy with other work
ashlar = ""


def setUpModule():
    global folder, profiles, merged_here
    folder = tempfile.TemporaryDirectory(prefix="fleet-test-")
    made = Path(folder.name) / "profiles"
    made.mkdir()
    profiles = sample_profiles(ashlar, made, PROFILES)
    merged_here = made_by(profiles)


def tearDownModule():
    folder.cleanup()


def run_ashlar(*arguments):
    done = subprocess.run([ashlar, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode != 0:
        raise AssertionError(f"ashlar {arguments}: {done.stderr}")


def made_by(inputs):
    """The profile of all that is made on one machine."""
    result = Path(folder.name) / "here.aprof"
    run_ashlar("tune", "profile", "-o", result, *inputs)
    return result.read_bytes()


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s in vain for {what}")
        time.sleep(0.02)
    return value


def address_in(scheduler_file):
    """None until the scheduler has written it, whole."""
    try:
        return json.loads(scheduler_file.read_text())["address"]
    except (OSError, ValueError):
        return None


def processes(field, value):
    """Of those that run, whose /proc/PID/stat has this value: fields are counted from behind the name."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if fields[0] != "Z" and int(fields[field]) == value:
            found.append(int(stat.parent.name))
    return found


def message(*parts):
    """A protobuf message of (number of the field, a number or bytes)."""
    def varint(value):
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)
    return b"".join(varint(number << 3) + varint(value) if isinstance(value, int) else
                    varint(number << 3 | 2) + varint(len(value)) + value for number, value in parts)


def pushed(host, version, hour, stacks):
    """A profile as ashlar agent --push FOLDER writes it. `stacks`: live bytes by tag and the calls' names, the innermost first;
    a call that is a number has no name."""
    texts, places = [""], {}

    def text(one):
        texts.extend([one] if one not in texts else [])
        return texts.index(one)
    parts = [(1, message((1, text(kind)))) for kind in ("alloc_space", "inuse_space")]
    parts.append((3, message((1, 7), (2, 0x1000), (3, 0x9000), (4, 0x100), (5, text("/bin/shop")), (6, text("ab" + version)))))
    for (tag, *calls), live in stacks.items():
        for call in calls:
            if call not in places:
                places[call] = len(places) + 1
                is_named = isinstance(call, str)
                line = (4, message((1, places[call]))) if is_named else (3, call)
                parts.append((4, message((1, places[call]), (2, 7), line)))
                parts += [(5, message((1, places[call]), (2, text(call))))] if is_named else []
        values = b"".join(message((0, value))[1:] for value in (2 * live, live))  # without the fields' keys
        labels = [(3, message((1, text("tag")), (2, text(tag))))] if tag else []
        parts.append((2, message((1, bytes(places[call] for call in calls)), (2, values), *labels)))
    parts.append((9, calendar.timegm((2026, 11, 29, hour, 30, 0)) * 10**9))
    parts += [(13, text(comment)) for comment in ("service=shop", f"version={version}", f"host={host}")]
    return gzip.compress(message(*parts, *((6, one.encode()) for one in texts)))


def children(parent):
    return processes(1, parent)


def has_signal(process, mask, number, thread=None):
    status = Path(f"/proc/{process}/task/{thread or process}/status").read_text()
    return int(re.search(rf"^{mask}:\s*(\w+)$", status, re.MULTILINE)[1], 16) >> (number - 1) & 1


def open_to(process, number):
    """Its threads, but for the first one, that do not block the signal: the system may give it to any of them."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):  # it ended meanwhile
            if int(task.name) != process and not has_signal(process, "SigBlk", number, task.name):
                found.append(task.name)
    return found


def session(leader):
    return processes(3, leader)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=folder.name)
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.output = self.folder / "all.aprof"
        self.temporary = self.folder / "tmp"
        self.gate = self.folder / "gate"
        self.temporary.mkdir()
        self.gate.mkdir()

    def start(self, *arguments, command=None):
        """fleet.py in a session of its own, as a terminal's shell would start it."""
        environment = {**os.environ, "TMPDIR": str(self.temporary), "ASHLAR": ashlar, "GATE": str(self.gate),
                       "PYTHONFAULTHANDLER": "1"}
        process = subprocess.Popen([sys.executable, FLEET, "-o", self.output, "--ashlar", command or ashlar,
                                    *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.stdout.close()
        process.stderr.close()
        for left in session(process.pid):
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(left, signal.SIGKILL)
        process.wait()

    def ends(self, process, status):
        """What it said, on standard output and standard error."""
        try:
            out, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail(f"after {PATIENCE} s there is still:\n{self.stuck(process)}")
        self.assertEqual(process.returncode, status, errors)
        self.assertNotIn("Traceback", errors)
        return out, errors

    @staticmethod
    def stuck(process):
        """What is left of it, and what it is at (by Python's faulthandler)."""
        left = subprocess.run(["ps", "-o", "pid,ppid,stat,args", "-s", str(process.pid)], capture_output=True,
                              text=True, check=False).stdout
        process.send_signal(signal.SIGABRT)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        return left + process.communicate()[1]

    def worker_at_its_third_merge(self, process):
        worker = int(wait_for("a worker's third merge", lambda: self.worker_file(process)))
        self.assertIn(worker, children(process.pid))
        return worker

    def worker_file(self, process):
        if process.poll() is not None:
            raise AssertionError(f"fleet.py has ended: {process.communicate()[1]}")
        file = self.gate / "worker"
        return file.read_text() if file.exists() else ""

    def merges(self):
        return len((self.gate / "merges").read_text().splitlines())

    def assert_tune_takes_it(self):
        header = self.folder / "pools.hpp"
        run_ashlar("tune", "-o", header, self.output)
        self.assertGreater(json.loads(header.with_suffix(".json").read_text())["total_bytes"], 0)

    def assert_nothing_left(self, process):
        wait_for("the end of all processes", lambda: not session(process.pid))
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertEqual({file.name for file in self.folder.iterdir()} - {"tmp", "gate"}, {self.output.name})


class OwnWorkers(Case):
    def test_a_worker_is_killed(self):
        process = self.start("--workers", "3", "--arity", "8", profiles[0].parent, command=HELD_ASHLAR)
        worker = self.worker_at_its_third_merge(process)
        os.kill(worker, signal.SIGKILL)
        (self.gate / "open").touch()
        out, _ = self.ends(process, 0)
        self.assertIn(f"{PROFILES} of {PROFILES} profiles", out)
        # Eight merges of profiles and one of these, into which none had gone yet; and what the worker was at and the
        # two that it had done, made again by others.
        self.assertGreaterEqual(self.merges(), 8 + 1 + 3)
        self.assertEqual(self.output.read_bytes(), merged_here)
        self.assert_nothing_left(process)
        self.assert_tune_takes_it()

    def test_control_c(self):
        self.output.write_bytes(profiles[0].read_bytes())
        process = self.start("--workers", "1", "--arity", "2", *profiles, command=HELD_ASHLAR)
        worker = self.worker_at_its_third_merge(process)
        self.assertTrue(has_signal(worker, "SigBlk", signal.SIGINT))  # or it would end on its own, with a traceback
        self.assertEqual(open_to(worker, signal.SIGINT), [])
        # The first thread asks for it where it may come. By way of another it would come in the middle of Dask's own work.
        self.assertEqual(open_to(process.pid, signal.SIGINT), [])
        os.killpg(process.pid, signal.SIGINT)
        _, errors = self.ends(process, 128 + signal.SIGINT)
        self.assertEqual(errors, "fleet: interrupted; nothing was written\n")
        self.assertEqual(self.output.read_bytes(), profiles[0].read_bytes())
        self.assert_nothing_left(process)


    def test_a_second_control_c_does_not_wait(self):
        process = self.start("--workers", "1", "--arity", "2", *profiles, command=HELD_ASHLAR)
        self.worker_at_its_third_merge(process)
        os.killpg(process.pid, signal.SIGINT)
        # Dask gives the merge that is held some seconds before it kills the worker.
        wait_for("the first Ctrl-C to be taken", lambda: not has_signal(process.pid, "SigCgt", signal.SIGINT))
        os.killpg(process.pid, signal.SIGINT)
        self.ends(process, -signal.SIGINT)
        wait_for("the end of all processes", lambda: not session(process.pid))
        self.assertFalse(self.output.exists())


class Cluster(Case):
    """A scheduler and two workers, which know nothing of the script."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(dir=folder.name)
        cls.addClassCleanup(cls.home.cleanup)
        file = Path(cls.home.name) / "scheduler.json"
        cls.launch("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file, "--no-dashboard",
                   "--dashboard-address", "127.0.0.1:0")
        cls.launch("dask_worker", "--scheduler-file", file, "--nworkers", "2", "--nthreads", "1", "--no-dashboard",
                   "--memory-limit", "0", "--local-directory", Path(cls.home.name) / "workers")
        cls.address = wait_for("the scheduler", lambda: address_in(file))

    @classmethod
    def launch(cls, program, *arguments):
        with open(Path(cls.home.name) / f"{program}.log", "wb") as log:
            process = subprocess.Popen([sys.executable, "-m", f"distributed.cli.{program}", *arguments],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(cls.stop, program, process)

    @staticmethod
    def stop(program, process):
        process.terminate()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired as problem:
            process.kill()
            process.wait()
            raise AssertionError(f"{program} did not end in {PATIENCE} s") from problem

    def reduce(self, *arguments, status=0, command=None):
        return self.ends(self.start("--scheduler", self.address, *arguments, command=command), status)

    def assert_refused(self, *arguments, command=None):
        _, errors = self.reduce(*arguments, status=2, command=command)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertFalse(self.output.exists())
        return errors

    def damaged(self):
        """Two sound profiles and four that are not, in a folder."""
        lying = self.folder / "lying"
        lying.mkdir()
        for sound in profiles[:2]:
            (lying / sound.name).write_bytes(sound.read_bytes())
        data = profiles[2].read_bytes()
        (lying / "changed.aprof").write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        (lying / "cut.aprof").write_bytes(data[:-1])
        (lying / "empty.aprof").touch()
        (lying / "foreign.aprof").write_text("this is no profile\n")
        return lying

    def test_profiles_that_lie_here(self):
        out, _ = self.reduce("--arity", "2", *profiles)
        self.assertIn(f"{PROFILES} of {PROFILES} profiles", out)
        self.assertEqual(self.output.read_bytes(), merged_here)

    def test_profiles_that_lie_there(self):
        self.reduce("--on-workers", profiles[0].parent)
        self.assertEqual(self.output.read_bytes(), merged_here)
        self.output.unlink()
        self.assertIn("/not-there: no profile is there", self.assert_refused("--on-workers", "/not-there"))

    def test_damaged_profiles(self):
        lying = self.damaged()
        errors = self.assert_refused(lying / "0001.aprof", lying / "changed.aprof")
        self.assertIn(f"{lying}/changed.aprof: at byte ", errors)
        self.assertIn("--skip-damaged", errors)
        _, errors = self.reduce("--skip-damaged", "--arity", "3", lying)
        self.assertEqual(self.output.read_bytes(), made_by(profiles[:2]))
        for name in ("changed", "cut", "empty", "foreign"):
            self.assertEqual(errors.count(f"fleet: left out: {lying}/{name}.aprof: "), 1, errors)
        self.output.unlink()
        self.assertIn("every profile is damaged", self.reduce("--skip-damaged", lying / "cut.aprof", status=2)[1])
        self.assertFalse(self.output.exists())

    def test_the_result_among_its_parts(self):
        self.output.write_bytes(profiles[0].read_bytes())
        _, errors = self.reduce(self.folder, status=2)
        self.assertIn("it would be one of its own parts", errors)
        self.assertEqual(self.output.read_bytes(), profiles[0].read_bytes())

    def test_a_file_that_is_no_profile_stays(self):
        self.output.write_text("no profile")
        _, errors = self.reduce(profiles[0], status=2)
        self.assertIn("is there and is no profile", errors)
        self.assertEqual(self.output.read_text(), "no profile")

    def test_stacks(self):
        """The stacks of two versions, of two hosts and hours, and the call that grew between them."""
        there = self.folder / "pushed"
        there.mkdir()
        for number, (host, version, hour) in enumerate((h, v, t) for h in "ab" for v in ("1", "2") for t in (7, 8)):
            stacks = {("", "keep", "main"): 1000, ("cache", "keep; all", "main"): 500 if version == "1" else 70_000,
                      ("", 0x1234, "main"): 3}
            (there / f"{number}.pb.gz").write_bytes(pushed(host, version, hour, stacks))
        self.output = self.folder / "all.folded"
        out, _ = self.reduce("--stacks", "--versions", "1", "2", "--arity", "3", there)
        self.assertEqual(out.splitlines()[:2], [
            "             1              2         growth  live bytes of a process on average",
            "           500         70,000        +69,500  shop: [cache];main;keep: all"])
        self.assertIn("8 of 8 profiles", out)
        lines = self.output.read_text().splitlines()
        self.assertEqual(len(lines), 8 * 4)  # of each hour, host and version: three stacks, and how many profiles it has
        for line in ("(profiles) 1", "main;keep 1000", "[cache];main;keep: all 70000", "main;ab2+0x334 3"):
            self.assertIn(f"(fleet);2026-11-29T08;a;shop;2;ab2;{line}", lines)
        whole = self.output.read_bytes()
        self.reduce("--stacks", "--arity", "8", *sorted(there.glob("*"), reverse=True))  # it replaces what is there
        self.assertEqual(self.output.read_bytes(), whole)
        self.output.unlink()
        self.assertIn("no profile is of version 3", self.assert_refused("--stacks", "--versions", "1", "3", there))
        (there / "0.pb.gz").write_bytes(gzip.compress(b"no profile"))
        self.assertIn("/0.pb.gz: no profile of ashlar agent --push: ", self.assert_refused("--stacks", there))
        self.assertIn("7 of 8", self.reduce("--stacks", "--skip-damaged", there)[0])

    def test_no_such_command(self):
        errors = self.assert_refused(profiles[0], command="ashlar-of-nowhere")
        self.assertIn("no command 'ashlar-of-nowhere': install it on each worker's machine", errors)

    def test_record(self):
        traces = self.folder / "traces"
        traces.mkdir()
        words = f"{sys.executable} -c 'import os; child = os.fork(); print(len([*range(100_000)])); child and os.wait()'"
        out, _ = self.reduce("--record", words, "--runs", "3", "--arity", "2", "--traces", traces)
        self.assertIn("3 of 3 profiles", out)
        kept = list(traces.glob("run-*/*.atrace"))
        self.assertEqual(len(kept), 6)  # each run has a forked process
        self.assertEqual(self.output.read_bytes(), made_by(kept))
        self.output.unlink()
        self.assertIn("run 1 of sh -c 'exit 3' on ", self.assert_refused("--record", "sh -c 'exit 3'"))
        self.assertIn(" ended with 1: ashlar: no trace ", self.assert_refused("--record", "/sbin/ldconfig -p"))


if __name__ == "__main__":
    if importlib.util.find_spec("distributed") is None:
        print("fleet: not tested, for want of Dask. Remedy: scripts/setup.sh fleet")
        sys.exit(77)
    ashlar = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
