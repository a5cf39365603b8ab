#!/usr/bin/env python3
"""`ashlar agent` over services that do what this test says, and over processes that only claim to be some.

Prometheus and promtool are asked where they are installed, and the profile is read by `go tool pprof` where that is.
OTLP is read by PyPI's opentelemetry-proto 1.45.2 where that is: of another version the fields may be others.

Run: agent_test.py COMMAND SERVICE DROP_IN LINKED
"""
import base64
import concurrent.futures
import gzip
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path += [os.path.join(os.path.dirname(__file__), "..", folder) for folder in ("support", "report")]
import browser  # pylint: disable=wrong-import-position
from metrics_text import parse_metrics  # pylint: disable=wrong-import-position
from pprof import Profile, inside, variable  # pylint: disable=wrong-import-position
from processes import CommandTest, read, run_together, wait_until, write  # pylint: disable=wrong-import-position

COMMAND, SERVICE, DROP_IN, LINKED = sys.argv[1:5]


def samples(text):
    """Metrics: (name, labels) -> number."""
    return {(name, labels): value for name, (_, values) in parse_metrics(text).items() for labels, value in values.items()}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Listener:
    """A socket of a process's name, behind which something else answers."""

    def __init__(self, path, answer):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(8)
        self.is_ended = False
        threading.Thread(target=self.run, args=(answer,), daemon=True).start()

    def run(self, answer):
        while not self.is_ended:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.say, args=(connection, answer), daemon=True).start()

    def say(self, connection, answer):
        with connection:
            try:
                answer(connection)
            except OSError:
                pass

    def end(self):
        self.is_ended = True
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Collector(http.server.ThreadingHTTPServer):
    """What profiles are pushed to. `answer` gets the handler of each request."""
    daemon_threads = True

    def __init__(self, port=0, answer=None):
        self.got = []
        self.answer = answer or (lambda to: self.say(to, 200))
        super().__init__(("127.0.0.1", port), Collector.Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @staticmethod
    def say(to, status, body=b"", **headers):
        to.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(body)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # pylint: disable=invalid-name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.got.append((self.path, self.headers, body))
            try:
                self.server.answer(self)
            except OSError:
                pass

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    def end(self):
        self.shutdown()
        self.server_close()


class AgentTest(CommandTest):
    command = COMMAND
    address = None

    def service(self, program=SERVICE, **environment):
        made = self.start([program], {"LD_PRELOAD": DROP_IN, "ASHLAR_CONTROL": "1", **environment})
        self.assertEqual(made.stdout.readline().strip(), str(made.pid))
        path = self.path("ashlar", f"{made.pid}.sock")
        self.assertTrue(wait_until(lambda: os.path.exists(path)), "there is no socket")
        return made

    def agent(self, *words, **environment):
        made = self.start([COMMAND, "agent", "--port", "0", *words], environment)
        line = made.stdout.readline()
        found = re.fullmatch(r"ashlar agent: http://(\S+?):(\d+)/\n", line)
        if not found:
            made.kill()
            self.fail(line + made.stderr.read())
        self.address = (found[1].strip("[]"), int(found[2]))
        return made

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body

    def text(self, path, **headers):
        response, body = self.ask(path, **headers)
        self.assertEqual(response.status, 200, body)
        return body.decode()

    def metrics(self):
        return samples(self.text("/metrics"))

    def value(self, name, pid=None):
        return {labels: number for (found, labels), number in self.metrics().items()
                if found == name and (pid is None or ("pid", str(pid)) in labels)}

    def one(self, name, pid=None):
        found = list(self.value(name, pid).values())
        self.assertEqual(len(found), 1, name)
        return found[0]

    def strange(self, number, answer):
        os.makedirs(self.path("ashlar"), mode=0o700, exist_ok=True)
        made = Listener(self.path("ashlar", f"{number}.sock"), answer)
        self.addCleanup(made.end)
        return made

    def check_by_pprof(self, place):
        go = shutil.which("go") or "/usr/local/go/bin/go"
        if os.path.exists(go):
            top = subprocess.run([go, "tool", "pprof", "-top", place], capture_output=True, text=True, check=False,
                                 env={**os.environ, "PPROF_TMPDIR": self.folder})
            self.assertEqual(top.returncode, 0, top.stderr)
            self.assertRegex(top.stdout, r"(?s)inuse_space.*keep")

    def resident_kib(self, process):
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def lines_at_end(self, agent, seconds=15, how=signal.SIGTERM):
        """What it said, once it has ended, which takes no longer than that."""
        begin = time.monotonic()
        agent.send_signal(how)
        self.assertEqual(agent.wait(timeout=30), 0)
        self.assertLess(time.monotonic() - begin, seconds)
        return agent.stderr.read().splitlines()

    def token(self):
        return write(self.path("token"), 32 * "a" + "\n")


class Answers(AgentTest):
    """What it answers."""

    def test_metrics(self):
        first = self.service(OTEL_SERVICE_NAME='we"b\\', OTEL_RESOURCE_ATTRIBUTES="service.version=1%2C2,a=b")
        second = self.service(OTEL_SERVICE_NAME="")
        first.ask("keep 3000")
        self.agent()
        found = self.value("ashlar_heap_used_bytes")
        self.assertEqual(len(found), 2)
        labels = next(labels for labels in found if ("pid", str(first.pid)) in labels)
        self.assertEqual([name for name, _ in labels], ["pid", "comm", "service", "version", "cgroup"])
        self.assertEqual(dict(labels)["service"], 'we"b\\')
        self.assertEqual(dict(labels)["version"], "1,2")
        self.assertGreaterEqual(found[labels], 3000 * 1000)
        self.assertLess(self.one("ashlar_heap_used_bytes", second.pid), 2_000_000)
        self.assertGreater(self.one("ashlar_process_resident_bytes", first.pid), 3000 * 1000)
        self.assertGreater(self.one("ashlar_process_minor_faults_total", first.pid), 700)
        self.assertGreaterEqual(self.one("ashlar_process_major_faults_total", first.pid), 0)
        info = dict(next(iter(self.value("ashlar_process_info", first.pid))))
        self.assertEqual((info["accuracy"], info["library"]), ("batch", "0.1.0"))
        before = self.one("ashlar_heap_allocations_total", first.pid)
        first.ask("keep 3000")
        time.sleep(0.6)
        self.assertGreaterEqual(self.one("ashlar_heap_allocations_total", first.pid), before + 2900)
        self.assertEqual(self.one("ashlar_agent_processes"), 2)
        own = json.loads(self.done("ctl", "--json", first.pid, "stats"))["total"]
        self.assertEqual(self.one("ashlar_heap_peak_committed_bytes", first.pid), own["peak_committed_bytes"])

    def test_tags(self):
        service = self.service(ASHLAR_SAMPLE="1K")
        service.ask("keep 4000")
        service.ask("keep_tagged 2000")
        self.agent()
        (labels, live), = self.value("ashlar_tag_live_bytes").items()
        self.assertEqual(labels[-1], ("tag", 'the "cache"'))
        error = self.one("ashlar_tag_live_error_bytes")
        self.assertLess(abs(live - 2_000_000), 6 * error)
        self.assertLess(error, 100_000)
        own = samples(self.done("ctl", service.pid, "metrics"))
        for name, value in (("ashlar_tag_live_bytes", live), ("ashlar_tag_live_error_bytes", error)):
            self.assertEqual(own[name, (("tag", 'the "cache"'),)], value)
        shown = Profile(self.ask(f"/debug/pprof/heap?pid={service.pid}")[1])
        self.assertEqual(set(shown.tags), {None, 'the "cache"'})
        self.assertAlmostEqual(shown.sum("inuse_space", 'the "cache"'), live, delta=10)
        sites = json.loads(self.text(f"/sites?pid={service.pid}"))["sites"]
        self.assertEqual([site["tag"] for site in sites[:2]], ["", 'the "cache"'])

    def test_named_heaps(self):
        service = self.service(LINKED, LD_PRELOAD="")
        service.ask("heap")
        self.agent()
        (labels, used), = self.value("ashlar_named_heap_used_bytes").items()
        self.assertEqual((dict(labels)["pid"], labels[-1], used), (str(service.pid), ("heap", "tenant 7"), 3 << 20))
        own = samples(self.done("ctl", service.pid, "metrics"))
        for name in ("ashlar_named_heaps", "ashlar_named_heap_committed_bytes", "ashlar_named_heap_budget_bytes"):
            self.assertEqual(self.one(name), own[name, labels[-1:]])

    def test_formats(self):
        self.service()
        self.agent()
        plain, body = self.ask("/metrics")
        self.assertEqual(plain.getheader("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        self.assertNotIn(b"# EOF", body)
        wanted = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
        open_metrics, body = self.ask("/metrics", Accept=wanted)
        self.assertIn("application/openmetrics-text", open_metrics.getheader("Content-Type"))
        self.assertTrue(body.endswith(b"\n# EOF\n"))
        self.assertIn(b"# TYPE ashlar_heap_frees counter\nashlar_heap_frees_total{", body)
        less = self.ask("/metrics", Accept="application/openmetrics-text;q=0.2,text/plain")[0]
        self.assertIn("text/plain", less.getheader("Content-Type"))
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            return
        self.assertGreater(len(list(text_string_to_metric_families(body.decode()))), 15)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool(self):
        self.service()
        self.agent()
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.text("/metrics"), text=True, check=False,
                                 capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def from_prometheus(self, job, query, wanted):
        """Returns: what Prometheus answers, with the agent as its only job, as soon as there are so many."""
        port, found = free_port(), []
        settings = write(self.path("prometheus.yml"), "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: ashlar\n" + job)
        self.start(["prometheus", f"--config.file={settings}", f"--web.listen-address=127.0.0.1:{port}",
                    f"--storage.tsdb.path={self.folder}/data"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def are_found():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{query}", timeout=5) as answer:
                    data = json.load(answer)["data"]
            except (OSError, urllib.error.URLError):
                return False
            found[:] = data.get("result", data.get("activeTargets"))
            return len(found) == wanted
        self.assertTrue(wait_until(are_found, 60), f"Prometheus has not found {wanted}")
        return found

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_prometheus(self):
        service = self.service(OTEL_SERVICE_NAME="shop")
        service.ask("keep 5000")
        self.agent("--token-file", self.token())
        found = self.from_prometheus(f"  authorization: {{credentials_file: {self.token()}}}\n  static_configs:\n"
                                     f"  - targets: ['127.0.0.1:{self.address[1]}']\n",
                                     "query?query=ashlar_heap_used_bytes%7Bservice%3D%22shop%22%7D", 1)
        self.assertEqual(found[0]["metric"]["pid"], str(service.pid))
        self.assertEqual(found[0]["metric"]["job"], "ashlar")
        text = self.text("/metrics", Authorization=f"Bearer {32 * 'a'}")
        live = next(v for (name, labels), v in samples(text).items() if name == "ashlar_heap_used_bytes")
        self.assertAlmostEqual(float(found[0]["value"][1]), live, delta=200_000)
        self.assertGreaterEqual(live, 5_000_000)

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_targets_by_prometheus(self):
        """What a reader of profiles does with the list: each process's own URL, which has its profile."""
        services = [self.service(ASHLAR_SAMPLE="1K", OTEL_SERVICE_NAME=name) for name in ("shop", 'a "b"')]
        self.agent()
        # Readers of profiles take the path and the parameter from the labels; Prometheus has another name for the path.
        found = self.from_prometheus("  http_sd_configs:\n"
                                     f"  - url: 'http://127.0.0.1:{self.address[1]}/targets'\n  relabel_configs:\n"
                                     "  - {source_labels: [__profile_path__], target_label: __metrics_path__}\n", "targets", 2)
        by_pid = {each["labels"]["pid"]: each for each in found}
        self.assertEqual(set(by_pid), {str(each.pid) for each in services})
        for service, name in zip(services, ("shop", 'a "b"')):
            target = by_pid[str(service.pid)]
            self.assertEqual((target["labels"]["service"], target["labels"]["service_name"]), (name, name))
            self.assertEqual(target["scrapeUrl"], f"http://127.0.0.1:{self.address[1]}/debug/pprof/heap?pid={service.pid}")
            with urllib.request.urlopen(target["scrapeUrl"], timeout=30) as answer:
                self.assertEqual(Profile(answer.read()).shown_first, "inuse_space")

    def test_sockets_elsewhere(self):
        """Where ASHLAR_CONTROL says: to a service one path, to the agent and to ctl a pattern."""
        folders = [self.path("a"), self.path("b")]
        services = []
        for folder in folders:
            os.mkdir(folder, 0o700)
            made = self.start([SERVICE], {"LD_PRELOAD": DROP_IN, "ASHLAR_CONTROL": os.path.join(folder, "heap-%p.sock")})
            self.assertEqual(made.stdout.readline().strip(), str(made.pid))
            self.assertTrue(wait_until(lambda: os.listdir(folder)))  # pylint: disable=cell-var-from-loop
            services.append(made.pid)
        everywhere = {"ASHLAR_CONTROL": self.path("?", "*-%p.sock")}
        self.agent(**everywhere)
        found = {process["pid"] for process in json.loads(self.text("/processes"))["processes"]}
        self.assertEqual(found, set(services))
        listed = json.loads(self.ashlar("ctl", "--once", "--json", environment=everywhere).stdout)
        self.assertEqual({process["pid"] for process in listed["processes"]}, set(services))
        for folder, pid in zip(folders, services):
            one = {"ASHLAR_CONTROL": os.path.join(folder, "heap-%p.sock")}
            self.assertIn(f"process {pid}", self.ashlar("ctl", pid, "stats", environment=one).stdout)
            self.refused(1, "has no control socket", "ctl", pid, "stats")

    def test_profiles(self):
        service = self.service(ASHLAR_SAMPLE="1K")
        service.ask("keep 4000")
        self.agent()
        response, body = self.ask(f"/debug/pprof/heap?pid={service.pid}")
        self.assertEqual(response.status, 200, body)
        heap = Profile(body)
        self.assertEqual(heap.shown_first, "inuse_space")
        self.assertGreater(heap.sum("inuse_space"), 3_600_000)
        self.assertLess(heap.sum("inuse_space"), 4_600_000)
        self.assertTrue(heap.has("keep"), heap.functions)
        self.assertTrue(heap.has("__libc_start_main"), heap.functions)  # a link leads to its file
        self.assertEqual(Profile(self.ask("/debug/pprof/allocs")[1]).shown_first, "alloc_space")  # the only process
        sites = json.loads(self.text(f"/sites?pid={service.pid}"))
        self.assertEqual(sites["every_bytes"], 1024)
        self.assertGreater(sites["sites"][0]["live_bytes"], 3_500_000)
        self.assertTrue(any("keep" in name for name in sites["sites"][0]["frames"]))
        self.check_by_pprof(f"http://127.0.0.1:{self.address[1]}/debug/pprof/heap?pid={service.pid}")

    def test_profiles_that_there_are_not(self):
        self.agent()
        self.assertEqual(self.ask("/debug/pprof/heap")[0].status, 400)
        self.assertEqual(self.text("/targets"), "[]")
        service = self.service()
        time.sleep(0.6)
        for words, status, why in (("", 409, "nothing was ever sampled"), ("?pid=1", 404, "no such process"),
                                   ("?pid=-5", 404, "no such"), ("?pid=99999999999999999999", 404, "no such"),
                                   ("?pid=" + 3000 * "1", 404, "no such")):
            response, body = self.ask("/debug/pprof/heap" + words)
            self.assertEqual(response.status, status, body)
            self.assertIn(why, body.decode())
            self.assertEqual(body.count(b"\n"), 1)
        self.assertEqual(self.ask(f"/sample?pid={service.pid}&every=1024", "POST")[0].status, 403)  # another site's page
        self.assertEqual(self.ask(f"/sample?pid={service.pid}&every=x", "POST", X_Ashlar="1")[0].status, 400)
        self.assertEqual(self.ask(f"/sample?pid={service.pid}&every=1024", "POST", X_Ashlar="1")[0].status, 200)
        service.ask("keep 1000")
        self.assertGreater(Profile(self.ask("/debug/pprof/heap")[1]).sum("inuse_space"), 500_000)

        other = self.service(OTEL_SERVICE_NAME="shop")
        time.sleep(0.6)
        response, body = self.ask("/debug/pprof/heap")
        self.assertEqual(response.status, 400)
        self.assertRegex(body.decode(), r"\Athere are 2 processes: \?pid=N names one of them\n(\?pid=\d+ \S+ agent_service\n){2}\Z")
        self.assertIn(f"\n?pid={other.pid} shop agent_service\n", body.decode())

    def record(self, pid, seconds):
        return self.ask(f"/record?pid={pid}&seconds={seconds}", "POST", X_Ashlar="1")

    def has_lost_50(self, trace):
        """The service lost so many blocks while it was recorded."""
        said = self.ashlar("leaks", "--trace", "-", input=trace, text=False).stdout
        self.assertRegex(said, rb"34\.2 KiB in 50 blocks")

    def test_recording(self):
        service = self.service()
        agent = self.agent()
        self.assertEqual(self.ask(f"/record?pid={service.pid}&seconds=1", "POST")[0].status, 403)  # another site's page
        self.assertEqual(self.ask(f"/record?pid={service.pid}&seconds=1", X_Ashlar="1")[0].status, 404)  # no POST
        for wrong in ("", "0", "16", "x"):
            self.assertEqual(self.record(service.pid, wrong)[0].status, 400)
        self.assertEqual(self.record(1, 1)[0].status, 404)
        with concurrent.futures.ThreadPoolExecutor() as beside:
            recorded = beside.submit(self.record, service.pid, 3)
            self.assertTrue(wait_until(lambda: len(os.listdir(self.path("ashlar"))) == 2))
            self.assertTrue(wait_until(lambda: "libashlar-record" in read(f"/proc/{service.pid}/maps")))
            time.sleep(0.5)
            service.ask("lose 50")
            response, body = self.record(service.pid, 1)
            self.assertEqual((response.status, body), (409, b"it is being recorded already\n"))
            response, body = recorded.result()
            self.assertEqual(response.status, 200, body)
            self.assertEqual(os.listdir(self.path("ashlar")), [f"{service.pid}.sock"])
            self.has_lost_50(body)
            self.done("ctl", service.pid, "record", "start", self.path("by.hand"))
            self.assertEqual(self.record(service.pid, 1)[1], b"it is being recorded already\n")
            self.done("ctl", service.pid, "record", "stop")
            # The agent's end is the recording's.
            recorded = beside.submit(self.record, service.pid, 15)
            self.assertTrue(wait_until(lambda: len(os.listdir(self.path("ashlar"))) == 2))
            self.assertEqual(self.lines_at_end(agent, 12), [])
            self.assertEqual(recorded.result()[0].status, 200)
        self.refused(1, "it is not being recorded", "ctl", service.pid, "record", "stop")

    def test_recording_of_a_killed_agent(self):
        """The recording that it asked for ends. Another agent's and a person's go on."""
        persons, others, its = (self.service() for _ in range(3))

        def trace(of):
            return self.path("ashlar", f"{of.pid}.atrace")
        self.done("ctl", persons.pid, "record", "start", trace(persons))
        with concurrent.futures.ThreadPoolExecutor() as beside:
            def begin(of, seconds):
                agent = self.agent()
                recorded = beside.submit(self.record, of.pid, seconds)
                self.assertTrue(wait_until(lambda: any(name.startswith(f"{of.pid}.atrace.") and name.endswith(".part")
                                                       for name in os.listdir(self.path("ashlar")))))
                time.sleep(0.5)  # until it has its answer
                return agent, recorded
            _, recorded = begin(others, 8)
            killed, lost = begin(its, 15)
            killed.kill()
            killed.wait()
            self.assertIsNotNone(lost.exception())
            self.assertTrue(wait_until(lambda: os.path.exists(trace(its)), 3))
            self.assertFalse(recorded.done())
            others.ask("lose 50")
            persons.ask("lose 50")
            response, body = recorded.result()
        self.assertEqual(response.status, 200)
        self.has_lost_50(body)
        self.done("ctl", persons.pid, "record", "stop")
        with open(trace(persons), "rb") as file:
            self.has_lost_50(file.read())
        # It can be recorded again.
        self.agent()
        self.assertEqual(self.record(its.pid, 1)[0].status, 200)
        self.assertEqual([name for name in os.listdir(self.path("ashlar")) if ".owner" in name], [])

    def test_recording_of_what_lies(self):
        """A process may put anything where its trace should be, and may claim that there is one."""
        statistics = self.done("ctl", "--json", self.service().pid, "stats").encode()
        trace, secret = self.path("ashlar", f"{os.getpid()}.atrace"), write(self.path("secret"), "secret")
        acts = {}

        def put(path, size):
            with open(path, "wb") as file:
                file.truncate(size)

        def lies(connection):
            request = connection.recv(1000)
            for word, act in acts.items():
                if word in request:
                    act()
            text = statistics if b" stats" in request else b""
            connection.sendall(b"ashlar 1 ok    %016d\n" % len(text) + text)
        self.strange(900001, lies)
        self.agent()
        for acts[b"record stop"], why in (
                (lambda: os.symlink(secret, trace), b"the process wrote no trace\n"),
                (lambda: os.mkfifo(trace), b"what it wrote is no file of its user's\n"),
                (lambda: put(trace, (64 << 20) + 1), b"its trace is too long: record it by ashlar ctl\n")):
            response, body = self.record(os.getpid(), 1)
            self.assertEqual((response.status, body), (409, why))
            self.assertFalse(os.path.lexists(trace))
        # It ends before its time where much is written.
        acts.update({b"record start": lambda: put(trace + ".1.part", 32 << 20),
                     b"record stop": lambda: os.rename(trace + ".1.part", trace)})
        begin = time.monotonic()
        response, body = self.record(os.getpid(), 15)
        self.assertEqual((response.status, len(body)), (200, 32 << 20))
        self.assertLess(time.monotonic() - begin, 12)
        self.assertEqual(read(secret), "secret")

    def test_page(self):
        service = self.service(OTEL_SERVICE_NAME="</script><b>")
        self.agent()
        response, body = self.ask("/")
        self.assertIn("text/html", response.getheader("Content-Type"))
        self.assertIn("frame-ancestors 'none'", response.getheader("Content-Security-Policy"))
        self.assertNotIn(b"<b>", body)
        self.assertTrue(wait_until(lambda: json.loads(self.text("/processes"))["processes"][0]["live_kib"]))
        found = json.loads(self.text("/processes"))
        self.assertEqual([p["pid"] for p in found["processes"]], [service.pid])
        self.assertEqual(len(found["processes"][0]["live_kib"]), 240)
        self.assertIsNotNone(found["processes"][0]["live_kib"][-1])
        self.assertIsNone(found["processes"][0]["live_kib"][0])
        self.assertEqual(self.text("/healthz"), "ok\n")
        self.assertEqual(self.ask("/nothing")[0].status, 404)

    @unittest.skipIf(browser.find() is None, "Chromium is not installed (scripts/setup.sh browser)")
    def test_page_in_a_browser(self):
        """Its buttons, on a narrow screen: what holds memory, and a recording."""
        service = self.service(ASHLAR_SAMPLE="1K")
        service.ask("keep 4000")
        self.agent()
        with browser.Browser(browser.find()) as page:
            def press(name, shown):
                button = f"[...document.querySelectorAll('button')].find(each => each.textContent === '{name}')"
                self.assertTrue(wait_until(lambda: page.evaluate(f"({button}) !== undefined")), name)
                page.evaluate(f"({button}).click()")
                self.assertTrue(wait_until(lambda: shown in page.evaluate("document.querySelector('table').innerText"), 60), name)
            page.resize(390, 900)
            page.call("Page.navigate", url=f"http://127.0.0.1:{self.address[1]}/")
            press("Holders", "keep")
            press("Close", "Holders")
            press("Record 10 s", "Recording…")
            self.assertTrue(wait_until(lambda: len(os.listdir(self.path("ashlar"))) == 2))
            service.ask("lose 50")
            self.assertTrue(wait_until(lambda: "are in" in page.evaluate("document.querySelector('table').innerText"), 60))
            text = page.evaluate("document.querySelector('table').innerText")
            self.assertIn(f"agent_service.{service.pid}.atrace", text)
            self.assertIn("Record 10 s", text)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
            self.assertEqual([each for each in page.problems if not each.startswith("network") and "404" not in each], [])


class OtherProcesses(AgentTest):
    """Processes that are no good."""

    def test_strange_listeners(self):
        good = self.service()
        os.chmod(self.folder, 0o700)
        flood = b"x" * 65536

        def floods(connection):
            connection.recv(100)
            while True:
                connection.sendall(flood)

        def floods_in_form(connection):
            connection.recv(100)
            connection.sendall(b"ashlar 1 ok    0000000009999999\n")
            while True:
                connection.sendall(flood)

        def drips(connection):
            while True:
                connection.sendall(b"a")
                time.sleep(0.05)

        def is_silent(connection):
            time.sleep(20)

        def says(text):
            return lambda connection: (connection.recv(100), connection.sendall(text))
        self.strange(900001, is_silent)
        self.strange(900002, floods)
        self.strange(900003, floods_in_form)
        self.strange(900004, drips)
        self.strange(900005, says(b"ashlar 1 ok    0000000000000002\n{}"))
        self.strange(900006, says(b"ashlar 1 ok    9999999999999999\n{}"))
        self.strange(900007, says(b"ashlar 1 ok    0000000000000900\n{"))
        self.strange(900008, says(b"ashlar 1 ok    0000000000004000\n" + 4000 * b"["))
        self.strange(900009, says(b"SSH-2.0\r\n"))
        self.strange(900010, says(b"ashlar 1 ok    0000000000000024\n" + b'{"total": {"threads": -1}'))
        write(self.path("ashlar", "900011.sock"), "")
        os.mkfifo(self.path("ashlar", "900012.sock"))
        agent = self.agent()
        begin = time.monotonic()
        self.assertGreater(self.one("ashlar_heap_used_bytes", good.pid), 0)
        self.assertLess(time.monotonic() - begin, 4)
        self.assertEqual(self.one("ashlar_agent_processes"), 1)
        self.assertIn(self.one("ashlar_agent_silent_processes"), (1, 2))  # one that drips is one of the two kinds
        self.assertGreaterEqual(self.one("ashlar_agent_wrong_answers"), 6)
        for _ in range(4):
            self.metrics()
            time.sleep(0.5)
        self.assertLess(self.resident_kib(agent), 60_000)

    def test_two_names_of_one_process(self):
        """A process has one series, whatever its sockets are called: Prometheus takes no series twice."""
        service = self.service()
        folder = self.path("ashlar")
        os.link(os.path.join(folder, f"{service.pid}.sock"), os.path.join(folder, "1.sock"))
        self.agent()
        self.assertEqual([dict(labels)["pid"] for labels in self.value("ashlar_heap_used_bytes")], [str(service.pid)])

    def test_library_of_an_older_release(self):
        """A figure that it does not know is no fault, and is not made up. One that this release does not know is none."""
        known = json.loads(self.done("ctl", "--json", self.service().pid, "stats"))
        del known["total"]["pinned_bytes"]
        known["total"]["of_later"] = 1
        # It may name what it likes, and is believed to name as many tags as a process has at most.
        known["heaps"] = [{"heap": f'{i:04}\n"é', "heaps": (1 << 64) - 2, "of_later": 1} for i in range(2000)]
        text = json.dumps(known).encode()
        self.strange(os.getpid(), lambda connection: (connection.recv(100),
                                                      connection.sendall(b"ashlar 1 ok    %016d\n" % len(text) + text)))
        self.agent()
        self.assertEqual([dict(labels)["heap"] for labels in self.value("ashlar_named_heaps", os.getpid())],
                         [f'{i:04}\n"é' for i in range(257)])
        self.assertEqual(self.value("ashlar_named_heap_budget_bytes"), {})
        self.assertEqual(self.one("ashlar_heap_used_bytes", os.getpid()), known["total"]["bytes_in_use"])
        self.assertEqual(self.value("ashlar_heap_pinned_bytes", os.getpid()), {})
        self.assertEqual(self.one("ashlar_agent_wrong_answers"), 0)
        listed = json.loads(self.done("ctl", "--once", "--json"))
        self.assertEqual((len(listed["processes"]), listed["without_answer"]), (2, 0))

    def test_processes_come_and_go(self):
        services = [self.service() for _ in range(6)]
        agent = self.agent()
        end = threading.Event()
        problems = []

        def scrape():
            while not end.is_set():
                try:
                    self.metrics()
                except Exception as problem:  # pylint: disable=broad-exception-caught
                    problems.append(problem)
        scraping = [threading.Thread(target=scrape, daemon=True) for _ in range(3)]
        for each in scraping:
            each.start()
        os.kill(services[0].pid, signal.SIGSTOP)
        for each in services[1:4]:
            each.kill()
            each.wait()
            time.sleep(0.2)
        child = int(services[4].ask("fork"))
        self.assertTrue(wait_until(lambda: self.value("ashlar_heap_used_bytes", child)))
        odd = self.path('a\\"\nb\udcff')
        os.symlink(SERVICE, odd)
        strange = self.service(program=odd)
        self.assertTrue(wait_until(lambda: self.value("ashlar_heap_used_bytes", strange.pid)))
        self.assertEqual(dict(next(iter(self.value("ashlar_heap_used_bytes", strange.pid))))["comm"],
                         'a\\"\nb\ufffd')
        services[5].ask("exec")
        end.set()
        for each in scraping:
            each.join()
        self.assertEqual(problems, [])
        # What was executed runs on the library, too, and may have a socket by now.
        self.assertTrue(wait_until(lambda: {dict(k)["pid"] for k in self.value("ashlar_heap_used_bytes")} -
                                   {str(services[5].pid)} == {str(child), str(services[4].pid), str(strange.pid)}))
        os.kill(services[0].pid, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: self.value("ashlar_heap_used_bytes", services[0].pid)))
        self.assertIsNone(agent.poll())


class Clients(AgentTest):
    """Clients that are no good."""

    def test_slow_and_loud_clients(self):
        self.service()
        agent = self.agent()
        quiet = [socket.create_connection(self.address) for _ in range(90)]
        self.assertTrue(wait_until(self.is_served, 15), "silent clients keep others from being served")
        loud = socket.create_connection(self.address)
        loud.settimeout(60)
        sent = 0
        with self.assertRaises(ConnectionError):  # it is told so, and does not wait in vain
            loud.sendall(b"GET / HTTP/1.1\r\n")
            while sent < 500_000_000:
                loud.sendall(b"A: " + 1000 * b"b" + b"\r\n")
                sent += 1005
        self.assertLess(sent, 300_000_000)
        for each in (loud, *quiet):
            each.close()
        self.assertEqual(self.text("/healthz"), "ok\n")
        self.assertLess(self.resident_kib(agent), 400_000)

    def is_served(self):
        try:
            return self.text("/healthz") == "ok\n"
        except (OSError, http.client.HTTPException):
            return False

    def test_nonsense(self):
        self.service()
        self.agent()
        for said in (b"\r\n\r\n", b"GET\r\n\r\n", b"\0\xff\r\n\r\n", b"GET /" + 9000 * b"a" + b" HTTP/1.1\r\n\r\n",
                     b"POST /sample?every=1 HTTP/1.1\r\nX-Ashlar: 1\r\nContent-Length: 99999999\r\n\r\n" + 5000 * b"x",
                     b"GET /sites?pid=%ZZ HTTP/1.1\r\n\r\n", b"GET /../../etc/passwd HTTP/1.1\r\n\r\n"):
            with socket.create_connection(self.address) as one:
                one.settimeout(20)
                try:
                    one.sendall(said)
                    one.shutdown(socket.SHUT_WR)
                    answer = one.recv(100)
                except OSError:
                    answer = b""
                self.assertNotIn(b" 200 ", answer, said[:40])
        self.assertEqual(self.text("/healthz"), "ok\n")

    def test_other_sites(self):
        self.agent()
        self.assertEqual(self.ask("/metrics", Host="evil.example")[0].status, 403)
        self.assertEqual(self.ask("/metrics", Host=f"localhost:{self.address[1]}")[0].status, 200)

    def test_token(self):
        self.agent("--listen", "0.0.0.0", "--token-file", write(self.path("token"), "0123456789abcdef0123\n"))
        self.address = ("127.0.0.1", self.address[1])
        basic = base64.b64encode(b"ashlar:0123456789abcdef0123").decode()
        for given, status in ((None, 401), ("Bearer 0123456789abcdef012", 401), ("Bearer ", 401), ("Basic x", 401),
                              ("Bearer 0123456789abcdef01234", 401), ("Bearer 0123456789abcdef0123", 200),
                              (f"Basic {basic}", 200)):
            for path in ("/", "/metrics", "/processes"):
                headers = {"Authorization": given} if given is not None else {}
                self.assertEqual(self.ask(path, **headers)[0].status, status, given)
        self.assertEqual(self.text("/healthz"), "ok\n")


class Pushes(AgentTest):
    """Where it pushes profiles."""

    def collector(self, *given, **named):
        made = Collector(*given, **named)
        self.addCleanup(made.end)
        return made

    def sampled_service(self):
        made = self.service(ASHLAR_SAMPLE="1K", OTEL_SERVICE_NAME="shop (a)",
                            OTEL_RESOURCE_ATTRIBUTES="service.version=1.2")
        made.ask("keep 4000")
        made.ask("keep_tagged 2000")
        return made

    def pushing(self, to, **environment):
        return self.agent("--push", to, "--push-every", "1", **environment)

    def wait_for_metric(self, name, condition):
        name = "ashlar_agent_" + name
        self.assertTrue(wait_until(lambda: condition(self.one(name))), (name, self.value(name)))

    def check_pushed(self, profile):
        self.assertAlmostEqual(profile.sum("inuse_space"), 6_000_000, delta=700_000)
        self.assertAlmostEqual(profile.sum("inuse_space", 'the "cache"'), 2_000_000, delta=400_000)
        self.assertEqual(profile.shown_first, "inuse_space")
        self.assertTrue(profile.has("keep"), profile.functions)

    def test_push_to_pyroscope(self):
        service = self.sampled_service()
        self.service()  # does not sample, so it has no profile
        to = self.collector()
        agent = self.pushing(f"pyroscope+{to.url}/below/")
        self.wait_for_metric("pushed_profiles_total", lambda pushed: pushed >= 2)
        for path, headers, body in to.got:
            url = urllib.parse.urlsplit(path)
            words = {name: value for name, (value,) in urllib.parse.parse_qs(url.query).items()}
            self.assertEqual((url.path, words["format"], words["spyName"]), ("/below/ingest", "pprof", "ashlar"))
            self.assertRegex(words["name"],
                             rf"^shop__a_\{{pid={service.pid},comm=agent_service,version=1\.2,host=[\w.-]+\}}$")
            self.assertAlmostEqual(int(words["until"]), time.time(), delta=30)
            self.assertEqual(int(words["from"]), int(words["until"]) - 1)
            self.assertEqual(headers["Content-Type"], "application/octet-stream")
            self.check_pushed(Profile(gzip.decompress(body)))
        self.assertEqual(self.one("ashlar_agent_dropped_profiles_total"), 0)
        self.assertEqual(self.one("ashlar_agent_push_fails"), 0)
        self.assertEqual(self.lines_at_end(agent), [])

    def test_push_as_otlp(self):
        service = self.sampled_service()
        to = self.collector()
        self.pushing(f"otlp+{to.url}")
        self.wait_for_metric("pushed_profiles_total", lambda pushed: pushed >= 1)
        path, headers, body = to.got[0]
        self.assertEqual(path, "/v1development/profiles")
        self.assertEqual((headers["Content-Type"], headers["Content-Encoding"]), ("application/x-protobuf", "gzip"))
        body = gzip.decompress(body)
        # ResourceProfiles, ScopeProfiles, Profile, Sample, values: live bytes, and a thousandth of them, live blocks.
        live = sum(variable(value)[0] for value in inside(body, 1, 2, 2, 2, 4))
        self.assertAlmostEqual(live, 6_000_000, delta=700_000)
        self.assertTrue(any(b"keep" in text for text in inside(body, 2, 5)))
        try:
            from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
        except ImportError:
            self.skipTest("pip install opentelemetry-proto==1.45.2, which reads the rest")
        form = profiles_service_pb2.ExportProfilesServiceRequest
        request = form.FromString(body)
        self.assertEqual(request.ByteSize(), len(body))
        self.assertEqual(form.FromString(request.SerializeToString()), request)
        self.check_otlp(request, service)

    def check_otlp(self, request, service):
        of, = request.resource_profiles
        facts = {each.key: each.value for each in of.resource.attributes}
        self.assertEqual(facts["service.name"].string_value, "shop (a)")
        self.assertEqual(facts["service.version"].string_value, "1.2")
        self.assertEqual(facts["process.pid"].int_value, service.pid)
        self.assertEqual(of.scope_profiles[0].scope.name, "ashlar")
        has = request.dictionary
        text = has.string_table
        self.assertEqual(text[0], "")
        for table in (has.mapping_table, has.location_table, has.function_table, has.link_table, has.attribute_table,
                      has.stack_table):
            self.assertEqual(table[0].ByteSize(), 0)  # the first one stands for none
        found = {}
        for profile in of.scope_profiles[0].profiles:
            kind = text[profile.sample_type.type_strindex], text[profile.sample_type.unit_strindex]
            self.assertAlmostEqual(profile.time_unix_nano / 1e9, time.time(), delta=60)
            self.assertEqual((profile.duration_nano, profile.period), (10**9, 1024))
            self.assertEqual(text[profile.period_type.type_strindex], "space")
            sums, frames = found.setdefault(kind, ({}, set()))
            for sample in profile.samples:
                tags = [has.attribute_table[at] for at in sample.attribute_indices]
                self.assertLessEqual({text[tag.key_strindex] for tag in tags}, {"ashlar.tag"})
                tag = tags[0].value.string_value if tags else ""
                sums[tag] = sums.get(tag, 0) + sum(sample.values)
                for place in has.stack_table[sample.stack_index].location_indices:
                    location = has.location_table[place]
                    frames.update(text[has.function_table[line.function_index].name_strindex] for line in location.lines)
                    if location.mapping_index:
                        self.check_otlp_mapping(has, has.mapping_table[location.mapping_index], location.address)
        self.assertEqual(list(found), [("inuse_space", "bytes"), ("inuse_objects", "count")])
        sums, frames = found["inuse_space", "bytes"]
        self.assertAlmostEqual(sums['the "cache"'], 2_000_000, delta=400_000)
        self.assertAlmostEqual(sum(sums.values()), 6_000_000, delta=700_000)
        self.assertAlmostEqual(sum(found["inuse_objects", "count"][0].values()), 6000, delta=700)
        self.assertTrue(any("keep" in name for name in frames), frames)

    def check_otlp_mapping(self, has, mapping, address):
        self.assertTrue(mapping.memory_start <= address < mapping.memory_limit)
        self.assertTrue(has.string_table[mapping.filename_strindex].startswith(("/", "[")))
        for at in mapping.attribute_indices:
            one = has.attribute_table[at]
            self.assertEqual(has.string_table[one.key_strindex], "process.executable.build_id.gnu")
            self.assertRegex(one.value.string_value, "^[0-9a-f]{16,}$")

    def test_push_into_folder(self):
        service = self.sampled_service()
        folder = self.path("profiles")
        os.mkdir(folder)
        agent = self.pushing(folder)
        self.wait_for_metric("pushed_profiles_total", lambda pushed: pushed >= 2)
        names = sorted(name for name in os.listdir(folder) if name.endswith(".gz"))
        notes = subprocess.run(["readelf", "-n", SERVICE], capture_output=True, text=True, check=True).stdout
        build_id = re.search("Build ID: ([0-9a-f]+)", notes)[1]
        for name in names:
            self.assertRegex(name, rf"^\d{{8}}T\d{{6}}Z-{build_id}-{service.pid}\.pb\.gz$")
            with gzip.open(os.path.join(folder, name)) as file:
                profile = Profile(file.read())
            self.check_pushed(profile)
            self.assertEqual(profile.comments, ["service=shop (a)", "version=1.2", f"host={socket.gethostname()}"])
        self.check_by_pprof(os.path.join(folder, names[0]))
        # It goes away, and comes back.
        os.rename(folder, folder + ".away")
        self.wait_for_metric("push_fails", lambda fails: fails == 1)
        os.mkdir(folder)
        self.wait_for_metric("push_fails", lambda fails: fails == 0)
        self.assertEqual(self.one("ashlar_agent_dropped_profiles_total"), 0)
        self.check_two_lines(self.lines_at_end(agent), folder)

    def check_two_lines(self, lines, where):
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(lines[0].startswith(f"ashlar agent: {where} takes no profiles: "), lines)
        self.assertTrue(lines[1].startswith(f"ashlar agent: {where} takes profiles again; 0 were dropped"), lines)

    @unittest.skipIf(subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0,
                     "no file system can be mounted here (unshare -rm)")
    def test_push_to_full_disk(self):
        self.sampled_service()
        folder = self.path("profiles")
        os.mkdir(folder)
        agent = self.start(["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=16k,mode=700 none "$1" && exec "$0" agent --port 0 '
                            '--push "$1" --push-every 1', COMMAND, folder])
        self.address = ("127.0.0.1", int(re.search(r":(\d+)/", agent.stdout.readline())[1]))
        self.wait_for_metric("push_fails", lambda fails: fails == 1)
        inside = f"/proc/{agent.pid}/root{folder}"
        for name in [name for name in os.listdir(inside) if name.endswith(".gz")]:  # they are whole
            with gzip.open(os.path.join(inside, name)) as file:
                self.assertGreater(Profile(file.read()).sum("inuse_space"), 5_000_000)
            os.remove(os.path.join(inside, name))
        self.wait_for_metric("push_fails", lambda fails: fails == 0)
        lines = self.lines_at_end(agent)
        self.assertRegex(lines[0], "takes no profiles: .*No space left on device")

    def test_push_to_what_is_away(self):
        self.sampled_service()
        port = free_port()
        agent = self.pushing(f"pyroscope+http://127.0.0.1:{port}")
        self.wait_for_metric("push_fails", lambda fails: fails == 1)
        one = self.one("ashlar_agent_waiting_bytes")
        self.wait_for_metric("waiting_bytes", lambda waiting: waiting > 2.5 * one)
        to = self.collector(port)
        self.wait_for_metric("waiting_bytes", lambda waiting: waiting == 0)
        self.wait_for_metric("push_fails", lambda fails: fails == 0)
        begins = [int(re.search("from=([0-9]+)", path)[1]) for path, _, _ in to.got]
        self.assertGreaterEqual(len(begins), 3)
        self.assertEqual(begins, sorted(begins))  # the oldest first
        self.assertEqual(self.one("ashlar_agent_dropped_profiles_total"), 0)
        self.check_two_lines(self.lines_at_end(agent), to.url)

    def test_push_to_what_refuses(self):
        self.sampled_service()
        other = self.collector()
        to = self.collector(answer=lambda handler: to.say(handler, 400, b"no\nsuch\x1btenant"))
        agent = self.pushing(f"pyroscope+{to.url}")
        self.wait_for_metric("dropped_profiles_total", lambda dropped: dropped >= 2)
        self.assertEqual(self.one("ashlar_agent_push_fails"), 0)
        to.answer = lambda handler: to.say(handler, 307, Location=other.url + "/ingest")
        dropped = self.one("ashlar_agent_dropped_profiles_total")
        self.wait_for_metric("dropped_profiles_total", lambda now: now >= dropped + 2)
        self.assertEqual(other.got, [])
        to.answer = lambda handler: to.say(handler, 500)
        dropped = self.one("ashlar_agent_dropped_profiles_total")
        self.wait_for_metric("dropped_profiles_total", lambda now: now >= dropped + 2)
        for status in (429, 503):
            to.answer = lambda handler, status=status: to.say(handler, status)
            self.wait_for_metric("push_fails", lambda fails: fails == 1)
            waiting = self.one("ashlar_agent_waiting_bytes")
            self.wait_for_metric("waiting_bytes", lambda now, waiting=waiting: now > waiting)
        dropped = self.one("ashlar_agent_dropped_profiles_total")
        to.answer = lambda handler: to.say(handler, 200, b"\xff is no answer of a collector's")
        self.wait_for_metric("waiting_bytes", lambda waiting: waiting == 0)
        self.assertEqual(self.one("ashlar_agent_dropped_profiles_total"), dropped)
        lines = self.lines_at_end(agent)
        self.assertEqual(len(lines), 3, lines)
        self.assertIn(f"{to.url} refuses profiles, which are dropped: HTTP status 400: no such tenant", lines[0])
        self.assertIn("HTTP status 429", lines[1])
        self.assertRegex(lines[2], f"takes profiles again; {dropped:.0f} were dropped")

    def test_push_that_a_collector_rejects(self):
        self.sampled_service()
        to = self.collector(answer=lambda handler: to.say(handler, 200, b"\x0a\x02\x08\x01"))  # partial success
        agent = self.pushing(f"otlp+{to.url}")
        self.wait_for_metric("dropped_profiles_total", lambda dropped: dropped >= 2)
        self.assertEqual(self.one("ashlar_agent_pushed_profiles_total"), 0)
        lines = self.lines_at_end(agent)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("refuses profiles, which are dropped: it rejected 1", lines[0])

    def test_push_whose_answer_goes_on(self):
        def goes_on(handler):
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(65536 * b"x")
        self.sampled_service()
        agent = self.pushing(f"pyroscope+{self.collector(answer=goes_on).url}")
        self.wait_for_metric("pushed_profiles_total", lambda pushed: pushed >= 2)  # its status says so
        self.assertLess(self.resident_kib(agent), 60_000)
        self.assertEqual(self.lines_at_end(agent), [])

    def push_is_given_up(self, some, pause=0, begin=b"HTTP/1.1 200 OK\r\n"):
        """Where the answer has `some` again and again before its end."""
        def answer(handler):
            handler.wfile.write(begin)
            while True:
                handler.wfile.write(some)
                time.sleep(pause)
        self.sampled_service()
        to = self.collector(answer=answer)
        agent = self.pushing(f"pyroscope+{to.url}")
        self.wait_for_metric("push_fails", lambda fails: fails == 1)
        self.assertEqual(self.one("ashlar_agent_pushed_profiles_total"), 0)
        before = len(to.got)
        self.assertTrue(wait_until(lambda: len(to.got) > before))  # it is sending again
        self.assertLess(self.resident_kib(agent), 60_000)
        lines = self.lines_at_end(agent)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(f"{to.url} takes no profiles: ", lines[0])

    def test_push_without_an_answer(self):
        self.push_is_given_up(b"", 60, b"")

    def test_push_with_headers_for_ever(self):
        self.push_is_given_up(1000 * b"A: b\r\n")

    def test_push_with_a_line_for_ever(self):
        self.push_is_given_up(65536 * b"x")

    def test_push_whose_answer_drips(self):
        self.push_is_given_up(b"A: b\r\n", 0.1)


class BeginAndEnd(AgentTest):
    def test_wrong_command_lines(self):
        self.refused(2, "'host' is no address", "agent", "--listen", "host")
        self.refused(2, "others may reach it, so --token-file is needed", "agent", "--listen", "0.0.0.0")
        self.refused(1, "cannot listen at 203.0.113.9, port 0: ", "agent", "--listen", "203.0.113.9", "--port", "0",
                     "--token-file", self.token())
        self.refused(2, "65536", "agent", "--port", "65536")
        for file, why in ((write(self.path("short"), "secret\n"), "its first line is no token"),
                          ("/nowhere", "cannot open|No such file")):
            done = self.ashlar("agent", "--token-file", file)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, why)

    def test_wrong_places_to_push_to(self):
        for to, why in (("/nowhere", "it is no folder, and no URL"), (COMMAND, "it is no folder"),
                        ("http://host", "it begins with none of"), ("pyroscope+ftp://host", "it begins with none of"),
                        ("otlp://host", "it begins with none of"), ("otlp+http://", "a host, a port"),
                        ("otlp+http://me:secret@host", "no name, password"), ("otlp+http://host?a=b", "or query"),
                        ("pyroscope+http://host:port", "it names no server"),
                        ("pyroscope+http://host:99999", "it names no server"), ("otlp+http://:4318", "it names no server"),
                        ("a\nb", "it is no folder"),
                        ("otlp+http://host/\r\nA: b", "no name, password")):
            self.refused(2, why, "agent", "--push", to)
        self.refused(2, "--push-every", "agent", "--push", self.folder, "--push-every", "0")

    def test_busy_port(self):
        self.agent()
        self.refused(1, f"port {self.address[1]}: another process has that port", "agent", "--port", str(self.address[1]))

    def test_end_by_the_keyboard_and_by_the_system(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            agent = self.agent()
            with socket.create_connection(self.address) as slow:
                slow.sendall(b"GET / HT")
                time.sleep(0.3)
                self.assertEqual(self.lines_at_end(agent, 12, how), [])


if __name__ == "__main__":
    if "was built without cpp-httplib" in subprocess.run([COMMAND, "agent", "--listen", "x"], capture_output=True, text=True,
                                                         check=False).stderr:
        sys.exit(print("skipped: this command was built without cpp-httplib"))
    run_together(8, sys.argv[5:])
