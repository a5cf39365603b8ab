#!/usr/bin/env python3
"""A process's control socket, `ashlar ctl`, with a service that does what this test says.

Run: control_test.py COMMAND SERVICE RECORDER [DROP_IN]
"""
import fcntl
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from metrics_text import parse_metrics  # pylint: disable=wrong-import-position
from processes import NOBODY, CommandTest, Talking, read, run_together, wait_until, without_none, write  # pylint: disable=wrong-import-position

COMMAND, SERVICE, RECORDER = sys.argv[1:4]
DROP_IN = sys.argv[4] if len(sys.argv) > 4 else ""
SHARED = f"/tmp/ashlar-{os.geteuid()}"


class Service(Talking):
    """A process with a control socket, in a folder of the test's own."""

    def __init__(self, runtime, *words, control="1", environment=None, **options):
        super().__init__([SERVICE, *words], {"XDG_RUNTIME_DIR": runtime, "ASHLAR_CONTROL": control,
                                             "LD_PRELOAD": DROP_IN or None, **(environment or {})}, **options)
        if not words:
            assert self.stdout.readline().strip() == str(self.pid)
        self.path = os.path.join(runtime, "ashlar", f"{self.pid}.sock")

    def thread(self):
        """The library's own thread: its number, or None."""
        for task in os.listdir(f"/proc/{self.pid}/task"):
            if read(f"/proc/{self.pid}/task/{task}/comm") == "ashlar\n":
                return task
        return None

    def status(self, name):
        text = read(f"/proc/{self.pid}/task/{self.thread()}/status")
        return re.search(rf"^{name}:\s*(\S+)", text, re.MULTILINE).group(1)


class ControlTest(CommandTest):
    command = COMMAND

    def service(self, *words, folder=None, **options):
        made = Service(folder or self.folder, *words, **options)
        self.addCleanup(made.close)
        if options.get("control", "1") == "1" and not folder:
            self.assertTrue(wait_until(lambda: os.path.exists(made.path)), "there is no socket")
        return made

    def ashlar(self, *words, environment=None, **options):
        return super().ashlar(*words, environment={"ASHLAR_RECORD_LIB": RECORDER, **(environment or {})}, **options)

    def raw(self, path, data, end=False):
        """What the process answers to these bytes."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(path)
            s.sendall(data)
            if end:
                s.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while part := s.recv(65536):
                    answer += part
            except ConnectionResetError:  # it has not read all
                pass
            return answer

    # ---- the requests ----------------------------------------------------------------------------

    def test_statistics(self):
        one = self.service()
        one.ask("keep 3000")
        figures = json.loads(self.done("ctl", "--json", one.pid, "stats"))
        self.assertEqual(figures["pid"], one.pid)
        self.assertGreaterEqual(figures["total"]["bytes_in_use"], 3000 * 1000)
        text = self.done("ctl", one.pid, "stats")
        self.assertIn(f"process {one.pid}", text)
        self.assertIn("  now  ", text)
        self.assertNotIn("at exit", text)

    def test_trim(self):
        one = self.service(environment={"ASHLAR_PURGE_DELAY_MS": "-1"})
        one.ask("keep 20000")
        one.ask("free")
        before = json.loads(self.done("ctl", "--json", one.pid, "trim"))["given_back_bytes"]
        self.assertGreater(before, 10_000_000)
        self.assertRegex(self.done("ctl", one.pid, "trim"), "went back to the system")

    def test_limit(self):
        one = self.service()
        one.ask("keep 20000")
        self.assertRegex(self.done("ctl", one.pid, "limit"), "^limit none, .* committed, 0 requests refused\n$")
        figures = json.loads(self.done("ctl", "--json", one.pid, "limit", "64M"))
        self.assertEqual((figures["limit_bytes"], figures["limit_refusals"]), (64 << 20, 0))
        self.assertGreater(figures["committed_bytes"], 20_000_000)
        # Below what is in use: the answer says so, and the service goes on.
        self.assertRegex(self.done("ctl", one.pid, "limit", "10M"),
                         "^limit 10.0 MiB, .* committed, 0 requests refused: nothing more until less is held\n$")
        self.assertIn("ashlar_heap_limit_bytes 10485760\n", self.done("ctl", one.pid, "metrics"))
        self.assertEqual(one.ask("free"), "freed")
        self.done("ctl", one.pid, "limit", "0")
        self.assertEqual(one.ask("keep 20000"), "kept")
        if DROP_IN:
            # A service that gets nothing more still answers, and its limit can be raised.
            self.done("ctl", one.pid, "limit", "64M")
            self.assertEqual(one.ask("fill"), "full")
            self.assertIn("MiB in blocks", self.done("ctl", one.pid, "stats"))
            self.assertIn("ashlar_heap_limit_refusals_total", self.done("ctl", one.pid, "metrics"))
            self.done("ctl", one.pid, "limit", "0")
            self.assertEqual(one.ask("keep 20000"), "kept")
        for wrong in ("64MB", "0%", "101%", "much"):
            self.refused(1, f"limit {wrong}: expected bytes such as 512M, a percentage such as 90%, or 0 for none",
                         "ctl", one.pid, "limit", wrong)
        self.refused(2, "expected: ashlar ctl PROCESS limit", "ctl", one.pid, "limit", "1M", "2M")

    def test_budget(self):
        one = self.service()
        self.refused(1, "nobody: no heap of this name lives in this process", "ctl", one.pid, "budget", "nobody")
        for wrong in ((), ("a", "1M", "2M")):
            self.refused(2, "expected: ashlar ctl PROCESS budget NAME", "ctl", one.pid, "budget", *wrong)
        if DROP_IN:
            return
        self.assertNotIn("named_heap", self.done("ctl", one.pid, "metrics"))
        one.ask("heap")
        heap, = json.loads(self.done("ctl", "--json", one.pid, "stats"))["heaps"]
        self.assertEqual({**heap, "committed_bytes": 0},
                         {"heap": "tenant 7", "heaps": 1, "bytes_in_use": 3 << 20, "committed_bytes": 0,
                          "budget_bytes": 8 << 20})
        self.assertGreaterEqual(heap["committed_bytes"], 3 << 20)
        self.assertRegex(self.done("ctl", one.pid, "stats"),
                         r"\n  heap       tenant 7: 3\.0 MiB in blocks, \S+ MiB committed, budget 8\.0 MiB\n")
        metrics = self.done("ctl", one.pid, "metrics")
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, text=True, check=False,
                                     capture_output=True)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        for name, value in (("ashlar_named_heaps", 1), ("ashlar_named_heap_used_bytes", 3 << 20),
                            ("ashlar_named_heap_committed_bytes", heap["committed_bytes"]),
                            ("ashlar_named_heap_budget_bytes", 8 << 20)):
            self.assertIn(f'\n{name}{{heap="tenant 7"}} {value}\n', metrics)
        self.assertRegex(self.done("ctl", one.pid, "budget", "tenant 7"), "^limit 8.0 MiB, 3.0 MiB committed, 0 requests refused\n$")
        figures = json.loads(self.done("ctl", "--json", one.pid, "budget", "tenant 7", "64M"))
        self.assertEqual(figures["limit_bytes"], 64 << 20)
        self.assertRegex(self.done("ctl", one.pid, "budget", "tenant 7", "1M"), "refused: nothing more until less is held\n$")
        self.assertRegex(self.done("ctl", one.pid, "budget", "tenant 7", "0"), "^limit none")
        self.refused(1, "limit much: expected bytes", "ctl", one.pid, "budget", "tenant 7", "much")

    def test_tag_limit(self):
        one = self.service()
        self.refused(1, "parser: no block was sampled under this tag", "ctl", one.pid, "tag", "parser")
        self.refused(2, "expected: ashlar ctl PROCESS tag NAME", "ctl", one.pid, "tag")
        if not DROP_IN:
            self.refused(1, "only libashlar-malloc.so samples", "ctl", one.pid, "tag", "parser=1M")
            return
        self.refused(1, "expected a tag, = and bytes", "ctl", one.pid, "tag", "parser=")
        self.done("ctl", one.pid, "tag", "parser=1M")
        self.assertEqual(self.done("ctl", one.pid, "tag", "parser"), "0 B live, give or take 0 B, limit 1.0 MiB\n")
        self.done("ctl", one.pid, "sample", "1K")
        one.ask("keep_tagged 3000")
        tag = json.loads(self.done("ctl", "--json", one.pid, "tag", 'the "cache"'))
        self.assertEqual((tag["tag"], tag["limit_bytes"]), ('the "cache"', 0))
        self.assertAlmostEqual(tag["live_bytes"], 3000 * 1000, delta=6 * tag["live_error_bytes"])
        self.assertGreater(tag["live_error_bytes"], 0)
        line = self.done("ctl", one.pid, "tag", 'the "cache"')
        self.assertRegex(line, r"^\S+ MiB live, give or take \S+ KiB, limit none\n$")
        self.assertIn(f'\n  tag        the "cache": {line}', self.done("ctl", one.pid, "stats"))
        self.assertIn('ashlar_tag_limit_bytes{tag="parser"} 1048576\n', self.done("ctl", one.pid, "metrics"))

    def test_samples(self):
        one = self.service()
        profile = self.path("a profile.pb")
        if not DROP_IN:
            self.refused(1, "only libashlar-malloc.so samples", "ctl", one.pid, "sample", "1K")
            self.refused(1, "only libashlar-malloc.so samples", "ctl", one.pid, "profile", profile)
            return
        self.refused(1, "nothing was ever sampled", "ctl", one.pid, "profile", profile)
        self.done("ctl", one.pid, "sample", "1K")
        one.ask("keep 3000")
        self.done("ctl", one.pid, "profile", profile)
        self.assertGreater(os.path.getsize(profile), 300)
        # Its path is the command's, not the service's.
        self.done("ctl", one.pid, "profile", "here.pb", cwd=self.folder)
        self.assertTrue(os.path.exists(self.path("here.pb")))
        self.done("ctl", one.pid, "sample", "off")
        self.refused(1, "there is no such folder", "ctl", one.pid, "profile", "/nowhere/at/all")
        # Without a path the answer is the profile. Nothing was allocated since then but by the answers themselves.
        answer = self.raw(one.path, b"ashlar 1 profile\n")
        self.assertEqual(answer[:32], b"ashlar 1 ok    %016d\n" % (len(answer) - 32))
        with open(profile, "rb") as file:
            self.assertEqual(answer[32:][:60], file.read()[:60])

    def test_recorder_is_called(self):
        one = self.service()
        trace = self.path("a trace")
        self.refused(1, "there is no such folder", "ctl", one.pid, "record", "stop")
        self.done("ctl", one.pid, "record", "start", trace)
        self.assertEqual(read(trace), "started\n")
        self.done("ctl", one.pid, "record", "stop")
        self.assertEqual(read(trace), "started\nstopped\n")
        self.refused(1, "there is no such folder", "ctl", one.pid, "record", "start", "/nowhere/at/all")
        other = [word for word in read(f"/proc/{one.pid}/maps").split() if "/libc.so" in word]
        if other:
            self.refused(1, "undefined symbol", "ctl", one.pid, "record", "start", trace,
                         environment={"ASHLAR_RECORD_LIB": other[0]})

    @unittest.skipUnless(DROP_IN, "the recorder sees malloc, and this service calls xmalloc")
    def test_recording(self):
        """The recorder itself: on the thread that has descriptors of its own, and again in the same process."""
        one, own = self.service(), {"environment": {"ASHLAR_RECORD_LIB": None}}
        for round in range(2):
            trace = self.path(f"{round}.atrace")
            self.done("ctl", one.pid, "record", "start", trace, **own)
            self.refused(1, "it is being recorded already$", "ctl", one.pid, "record", "start", trace + "2", **own)
            one.ask("lose 50")
            self.done("ctl", one.pid, "record", "stop", **own)
            self.refused(1, "it is not being recorded$", "ctl", one.pid, "record", "stop", **own)
            told = self.ashlar("leaks", "--trace", trace).stdout
            self.assertRegex(told, r"34\.2 KiB in 50 blocks(.*\n)+?.*lose")

    def test_leaks(self):
        one = self.service()
        one.ask("keep 100")
        one.ask("lose 70")
        result = self.ashlar("ctl", one.pid, "leaks")
        # The system may forbid it, and a sanitizer's shadow memory is too much to look through.
        if re.search("forbids|lets nobody|too much to look through", result.stderr):
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, "No pointer leads to .* in (69|70|71) blocks")
        self.assertEqual(one.ask("free"), "freed")

    def test_metrics(self):
        one = self.service()
        one.ask("keep 3000")
        text = self.done("ctl", one.pid, "metrics")
        families = parse_metrics(text)
        self.assertTrue(all(values for _, values in families.values()))
        self.assertGreaterEqual(families["ashlar_heap_used_bytes"][1][()], 3000 * 1000)
        self.assertIn((("block_size", "1024"),), families["ashlar_class_blocks_in_use"][1])
        labelled = parse_metrics(self.done("ctl", "--label", 'a=x"y\\', "--label", "b=2", one.pid, "metrics"))
        self.assertIn((("a", 'x"y\\'), ("b", "2")), labelled["ashlar_heap_used_bytes"][1])
        self.assertIn((("a", 'x"y\\'), ("b", "2"), ("block_size", "1024")), labelled["ashlar_class_slabs"][1])
        try:
            from prometheus_client.parser import text_string_to_metric_families
        except ImportError:
            return
        self.assertEqual({f.name for f in text_string_to_metric_families(text)},
                         {re.sub("_total$", "", name) for name in families})

    # ---- what the program notices of it ----------------------------------------------------------

    def test_off_unless_asked_for(self):
        one = self.service(control=None)
        self.assertIsNone(one.thread())
        self.assertFalse(os.path.exists(self.path("ashlar")))
        self.refused(1, "has no control socket: start it with .*ASHLAR_CONTROL=1", "ctl", one.pid, "stats")
        self.assertEqual(one.ask("control 1"), "0")
        self.done("ctl", one.pid, "stats")
        self.assertEqual(one.ask("control 1"), "0")  # anew
        self.done("ctl", one.pid, "stats")
        other = self.path("other-%p.sock")
        self.assertEqual(one.ask("control " + other), "0")
        self.assertFalse(os.path.exists(one.path))
        self.done("ctl", other.replace("%p", str(one.pid)), "stats")
        self.assertEqual(one.ask("control 0"), "0")
        self.assertTrue(wait_until(lambda: one.thread() is None))
        self.assertFalse(os.path.exists(other.replace("%p", str(one.pid))))
        self.assertEqual(one.ask("control 0"), "0")
        for wrong in ("", "2", "name", "/" + 200 * "x"):
            self.assertEqual(one.ask("control " + wrong), "22")
        self.assertEqual(one.ask("control /nowhere/at/all.sock"), "2")
        self.assertIsNone(one.thread())

    def test_rest(self):
        one = self.service()
        self.done("ctl", one.pid, "stats")
        self.assertTrue(wait_until(lambda: one.status("State") == "S"))
        before = one.status("voluntary_ctxt_switches")
        time.sleep(2.5)
        self.assertEqual(one.status("voluntary_ctxt_switches"), before)
        blocked = int(one.status("SigBlk"), 16)
        for number in range(1, 65):
            if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                self.assertTrue(blocked >> (number - 1) & 1, number)

    def test_descriptors_are_untouched(self):
        one = self.service()
        self.done("ctl", one.pid, "stats")
        files = {os.readlink(f"/proc/{one.pid}/fd/{n}") for n in os.listdir(f"/proc/{one.pid}/fd")}
        self.assertFalse([f for f in files if f.startswith(("socket:", "anon_inode:"))], files)
        self.assertEqual(one.ask("close 3"), "closed")
        for _ in range(3):
            self.done("ctl", one.pid, "stats")

    def test_few_descriptors(self):
        one = self.service()
        resource.prlimit(one.pid, resource.RLIMIT_NOFILE, (8, 8))
        for _ in range(3):
            self.done("ctl", one.pid, "stats")

    def test_without_standard_streams(self):
        def close_streams():
            os.close(0)
            os.close(1)
            os.close(2)
        one = self.service("quiet", preexec_fn=close_streams)
        self.done("ctl", one.pid, "stats")
        self.assertEqual(os.listdir(f"/proc/{one.pid}/fd"), [])

    def test_pipes_of_the_program_end(self):
        one = self.service()
        self.done("ctl", one.pid, "stats")
        one.tell("close 1")
        self.assertEqual(one.stdout.read(), "")  # it ends: the thread holds none of its ends
        self.done("ctl", one.pid, "stats")

    def test_exit_removes_the_socket(self):
        one = self.service()
        one.tell("exit")
        self.assertEqual(one.end(), (7, "exits\n", ""))
        self.assertFalse(os.path.exists(one.path))

    def test_exit_at_once_leaves_no_socket(self):
        lines = write(self.path("lines"), "exit\n")
        environment = without_none({"XDG_RUNTIME_DIR": self.folder, "ASHLAR_CONTROL": "1", "LD_PRELOAD": DROP_IN})
        for _ in range(40):
            some = []
            for _ in range(8):
                with open(lines, encoding="utf-8") as stdin:
                    some.append(subprocess.Popen([SERVICE], env=environment, stdin=stdin, stdout=subprocess.DEVNULL))
            self.assertEqual({one.wait(timeout=30) for one in some}, {7})
            self.assertEqual(os.listdir(self.path("ashlar")), [])

    def test_last_thread(self):
        one = self.service()
        one.tell("end_main")
        self.assertEqual(one.end(), (0, "ends\n", ""))
        self.assertFalse(os.path.exists(one.path))

    def test_fork(self):
        one = self.service()
        child = int(one.ask("fork"))
        path = self.path("ashlar", f"{child}.sock")
        self.assertTrue(wait_until(lambda: os.path.exists(path)))
        for pid in (one.pid, child):
            self.assertTrue(wait_until(lambda p=pid: self.ashlar("ctl", p, "trim").returncode == 0))
            self.assertEqual(json.loads(self.done("ctl", "--json", pid, "stats"))["pid"], pid)
        top = json.loads(self.done("ctl", "--once", "--json"))
        self.assertEqual({p["pid"] for p in top["processes"]}, {one.pid, child})

    def test_forks_beside_requests(self):
        one = self.service()
        answers = []
        end = threading.Event()

        def ask():
            while not end.is_set():
                answers.append(self.ashlar("ctl", one.pid, "stats").returncode)
        asking = [threading.Thread(target=ask) for _ in range(2)]
        for each in asking:
            each.start()
        self.assertEqual(one.ask("busy 400"), "done")
        end.set()
        for each in asking:
            each.join()
        self.assertEqual(set(answers), {0})
        self.done("ctl", one.pid, "stats")
        # Children that have ended without a destructor have left their names. The next socket
        # removes them.
        other = self.service()
        self.done("ctl", other.pid, "stats")
        self.assertEqual(set(os.listdir(self.path("ashlar"))),
                         {f"{one.pid}.sock", f"{other.pid}.sock"})

    def test_exec(self):
        one = self.service()
        one.ask("exec")
        self.assertTrue(wait_until(lambda: read(f"/proc/{one.pid}/comm") == "sleep\n"))
        if DROP_IN:  # sleep has the library, too, and may or may not allocate
            return
        self.refused(1, "does not serve its control socket any more", "ctl", one.pid, "stats")
        self.assertEqual(json.loads(self.done("ctl", "--json"))["processes"], [])

    # ---- where the socket is ---------------------------------------------------------------------

    def test_folder_is_private(self):
        one = self.service()
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(one.path)).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(one.path).st_mode), 0o600)

    def test_unsafe_folders_are_not_used(self):
        folder = self.path("ashlar")
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere, 0o700)
        for make in (lambda: os.mkdir(folder, 0o700) or os.chmod(folder, 0o750), lambda: os.symlink(elsewhere, folder),
                     lambda: write(folder, "")):
            make()
            one = self.service(folder=self.folder)
            path = os.path.join(SHARED, f"{one.pid}.sock")
            self.assertTrue(wait_until(lambda p=path: os.path.exists(p)))
            self.assertEqual(stat.S_IMODE(os.stat(SHARED).st_mode), 0o700)
            self.done("ctl", one.pid, "stats")
            self.assertEqual(one.end(), (0, "", ""))
            self.assertFalse(os.path.exists(path))
            self.assertFalse(os.path.isdir(folder) and os.listdir(folder))
            os.rmdir(folder) if os.path.isdir(folder) and not os.path.islink(folder) else os.unlink(folder)

    def test_a_path_of_its_own(self):
        path = self.path("own.sock")
        first = self.service(control=path)
        self.assertTrue(wait_until(lambda: os.path.exists(path)))
        self.assertTrue(wait_until(lambda: self.ashlar("ctl", path, "trim").returncode == 0))
        # Another process gets the same one: it says so, and goes on.
        second = self.service(control=path)
        self.assertEqual(second.ask("keep 10"), "kept")
        self.assertRegex(second.stderr.readline(),
                         rf"^ashlar: cannot open the control socket {path} \(ASHLAR_CONTROL\): "
                         "another process has it: %p in the path becomes .*\n$")
        self.assertEqual(second.end(), (0, "", ""))
        self.done("ctl", path, "stats")
        # The first is killed. Its name stays, and the next process takes it.
        first.close()
        self.assertTrue(os.path.exists(path))
        self.refused(1, "is served by no process", "ctl", path, "stats")
        third = self.service(control=path)
        self.assertTrue(wait_until(lambda: self.ashlar("ctl", path, "trim").returncode == 0))
        self.assertEqual(third.end(), (0, "", ""))
        self.assertFalse(os.path.exists(path))

    def test_what_cannot_be_a_socket(self):
        file = self.path("file")
        write(file, "kept")
        for value, why in ((file, "no socket: name another path"), ("/nowhere/at/all", "there is no such folder"),
                           ("yes", "is ignored: expected 1, 0 or a path"), ("/" + 200 * "x", "is ignored: expected"),
                           ("/" + 91 * "x" + "%p", "too long for a socket")):
            one = self.service(control=value)
            self.assertEqual(one.ask("keep 10"), "kept")
            self.assertIn(why, one.stderr.readline())
            self.assertEqual(one.end(), (0, "", ""))
        self.assertEqual(read(file), "kept")

    # ---- clients ---------------------------------------------------------------------------------

    def test_nonsense(self):
        one = self.service()
        for request, why in ((b"\n", b"a request begins with"), (b"GET / HTTP/1.1\r\n\r\n", b"a request begins with"),
                             (b"ashlar 1\n", b"begins with"), (b"ashlar 1 \n", b"no such request"),
                             (b"ashlar 1 statsx\n", b"no such request"), (b"ashlar 1 stats \n", b"no such request"),
                             (b"ashlar 1 sample\n", b"no such request"), (b"ashlar 1 sample -\n", b"a number"),
                             (b"ashlar 1 record start x\n", b"a library and a trace"),
                             (b"ashlar 2 stats\n", b"version 1 of the protocol, the request version 2"),
                             (b"\0\xff\n", b"begins with"), (b"x" * 9000, b"begins with"),
                             (b"ashlar 1 profile " + b"x" * 9000, b"")):
            answer = self.raw(one.path, request)
            self.assertRegex(answer[:32], rb"^ashlar 1 error \d{16}\n$")
            self.assertEqual(len(answer), 32 + int(answer[15:31]))
            self.assertIn(why, answer)
        self.assertEqual(self.raw(one.path, b"ashlar 1 stats", end=True), b"")  # no whole line
        self.done("ctl", one.pid, "stats")

    def test_silent_and_absent_clients(self):
        one = self.service()
        clients = []
        for i in range(30):
            clients.append(socket.socket(socket.AF_UNIX))
            clients[-1].connect(one.path)
            if i % 3 == 1:
                clients[-1].sendall(b"ashlar 1 met")
            if i % 3 == 2:
                clients[-1].sendall(b"ashlar 1 metrics\n")  # and never reads
                if i % 2 == 0:
                    clients[-1].close()  # gone before the answer
        begin = time.monotonic()
        self.done("ctl", one.pid, "stats")
        self.assertLess(time.monotonic() - begin, 14)  # groups of eight, two seconds each, at most
        for each in clients:
            each.close()
        self.assertEqual(one.ask("keep 1"), "kept")

    def test_many_clients(self):
        one = self.service()
        results = []
        threads = [threading.Thread(target=lambda: results.append(self.ashlar("ctl", one.pid, "metrics").returncode))
                   for _ in range(24)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(results, [0] * 24)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_another_user(self):
        one = self.service()
        os.chmod(self.folder, 0o755)
        try:
            result = self.ashlar("ctl", one.pid, "stats", user=NOBODY, group=NOBODY, extra_groups=[])
        except PermissionError:
            self.skipTest("the other user may not run the command")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, "belongs to another user .number 0.: run the command as that user, or as root")
        # Root asks a process of another user.
        runtime = self.path("other")
        os.mkdir(runtime, 0o700)
        os.chown(runtime, NOBODY, NOBODY)
        theirs = self.service(folder=runtime, user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertTrue(wait_until(lambda: os.path.exists(theirs.path)))
        self.done("ctl", theirs.pid, "stats", environment={"XDG_RUNTIME_DIR": runtime})

    # ---- the command's bad input -----------------------------------------------------------------

    def test_wrong_command_lines(self):
        one = self.service()
        self.refused(2, "REQUEST|stats", "ctl", one.pid)
        self.refused(2, "'nope' is none of", "ctl", one.pid, "nope")
        self.refused(2, "'server' is no number of a process", "ctl", "server", "stats")
        self.refused(2, "takes no further word: 'more'", "ctl", one.pid, "trim", "more")
        self.refused(2, "expected: ashlar ctl PROCESS sample", "ctl", one.pid, "sample")
        self.refused(2, "'12q' is no number of bytes", "ctl", one.pid, "sample", "12q")
        self.refused(2, "expected: ashlar ctl PROCESS profile FILE", "ctl", one.pid, "profile")
        self.refused(2, "a tab cannot be asked for", "ctl", one.pid, "profile", "a\tb")
        self.refused(2, "expected: ashlar ctl PROCESS record start FILE", "ctl", one.pid, "record", "begin")
        self.refused(2, "--label is for metrics alone", "ctl", "--label", "a=b", one.pid, "stats")
        self.refused(2, "'1a=b' is no NAME=VALUE", "ctl", "--label", "1a=b", one.pid, "metrics")
        self.refused(2, "leaks needs the number", "ctl", one.path, "leaks")
        self.refused(2, "", "ctl", "--sort", "size")

    def test_absent_processes(self):
        ended = subprocess.Popen(["true"])
        wait_until(lambda: "\nState:\tZ" in read(f"/proc/{ended.pid}/status"))
        self.refused(1, "has ended, and only its exit status is left", "ctl", ended.pid, "stats")
        ended.wait()
        self.refused(1, f"there is no process {ended.pid}", "ctl", ended.pid, "stats")
        plain = subprocess.Popen(["sleep", "60"])
        self.refused(1, f"process {plain.pid} has no control socket: start it with LD_PRELOAD=", "ctl", plain.pid,
                     "stats")
        plain.kill()
        plain.wait()

    def test_strange_listeners(self):
        path = self.path("listener")
        for said, why in ((b"", "ended before its answer was whole"), (b"SSH-2.0-x\r\n", "is not ashlar"),
                          (b"ashlar 1 ok    0000000000000900\nshort", "ended before its answer was whole"),
                          (b"ashlar 1 ok    0000000000000002\n{}more", "ended before its answer was whole"),
                          (b"ashlar 1 ok    9999999999999999\n{}", "longer than any that this command takes"),
                          (b"ashlar 1 ok    -000000000000001\n{}", "longer than any that this command takes"),
                          (b"ashlar 1 ok\n" + b"x" * 100000, "ended before its answer was whole"),
                          (b"ashlar 7 ok    0000000000000002\n{}", "has version 7 of the control protocol")):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen(1)

                def answer(listener=listener, said=said):
                    connection, _ = listener.accept()
                    connection.recv(1000)
                    connection.sendall(said)
                    connection.close()
                thread = threading.Thread(target=answer)
                thread.start()
                self.refused(1, why, "ctl", path, "stats")
                thread.join()
            os.unlink(path)

    # ---- top -------------------------------------------------------------------------------------

    def test_top_of_scripts(self):
        self.assertIn("no process of yours has a control socket", self.done("ctl", "--once"))
        small, large, exact = self.service(), self.service(), self.service(environment={"ASHLAR_STATS": "exact"})
        small.ask("keep 100")
        large.ask("keep 5000")
        text = self.done("ctl")
        self.assertEqual(text.split()[:2], ["pid", "program"])
        found = json.loads(self.done("ctl", "--once", "--json"))
        self.assertEqual(found["processes"][0]["pid"], large.pid)
        self.assertEqual({p["accuracy"] for p in found["processes"] if p["pid"] == exact.pid}, {"exact"})
        self.assertGreater(found["processes"][0]["live_bytes"], 5_000_000)
        # A process that stands still keeps nobody waiting.
        os.kill(small.pid, signal.SIGSTOP)
        begin = time.monotonic()
        found = json.loads(self.done("ctl", "--json"))
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(found["without_answer"], 1)
        os.kill(small.pid, signal.SIGCONT)
        # A killed one has left its name. It is not listed, and the next socket removes it.
        small.close()
        large.close()
        self.assertTrue(os.path.exists(small.path))
        self.assertEqual(len(json.loads(self.done("ctl", "--json"))["processes"]), 1)
        last = self.service()
        self.done("ctl", last.pid, "stats")
        self.assertFalse(os.path.exists(small.path))

    def test_top_on_a_terminal(self):
        one = self.service()
        one.ask("keep 5000")
        for how in ("q", "signal", "resize"):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
            before = termios.tcgetattr(slave)
            top = subprocess.Popen([COMMAND, "ctl"], stdin=slave, stdout=slave, stderr=slave,
                                   env={**os.environ, "TERM": "xterm", "XDG_RUNTIME_DIR": self.folder})
            shown = b""

            def more(until, master=master):
                nonlocal shown
                end = time.monotonic() + 20
                while until not in shown and time.monotonic() < end:
                    if select.select([master], [], [], 0.2)[0]:
                        shown += os.read(master, 65536)
                self.assertIn(until, shown)
            more(str(one.pid).encode())
            text = re.sub(rb"\x1b\[[?0-9]*[a-zA-Z]", b"", shown).decode()
            for line in text.splitlines():
                self.assertLessEqual(len(line), 60)
            if how == "resize":
                fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 1, 7, 0, 0))
                time.sleep(1.2)
            if how == "signal":
                top.send_signal(signal.SIGINT)
            else:
                os.write(master, b"q")
            self.assertEqual(top.wait(timeout=20), 0)
            self.assertEqual(termios.tcgetattr(slave), before)
            os.close(slave)
            os.close(master)


if __name__ == "__main__":
    run_together(4, sys.argv[5:], alone="unsafe_folders")  # their sockets are where others of the user would be
