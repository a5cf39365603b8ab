"""Compares what `ashlar inspect` tells with what planted programs know of themselves.

Run: look_test.py COMMAND DROP_IN PLANTED LINKED DEBUGGER_FOLDER
"""

import collections
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from processes import NOBODY, CommandTest, read, run_together, wait_until, write  # pylint: disable=wrong-import-position

COMMAND, DROP_IN, PLANTED, LINKED, DEBUGGER = sys.argv[1:6]
EMERGENCY_POOL = (72704, 73728)  # the C++ library's, for exceptions: as asked for, and its block
SAMPLES = {"ASHLAR_SAMPLE": "1"}
FULL = {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_GUARD": "0"}
GUARDS = {"ASHLAR_CHECK_GUARD": "1"}
POINTER = "<Q"
CORES = {}  # of planted programs by their scenario: those that several tests look into
LLDB = shutil.which("lldb") or shutil.which("lldb-19")


def bytes_of(path):
    return pathlib.Path(path).read_bytes()


def read_truth(path):
    """Returns: address -> bytes asked for, of each block in use."""
    data = bytes_of(path)
    count = struct.unpack_from(POINTER, data)[0]
    return dict(struct.unpack_from("<QQ", data, 8 + 16 * i) for i in range(count))


def listed_blocks(text):
    return {int(line.split()[0], 16): int(line.split()[1]) for line in text.splitlines()}


def counts(groups):
    return {group["what"]: group["blocks"] for group in groups}


def resident_mappings(pid):
    """Returns: begin, end and bytes in memory of each mapping."""
    return [(int(begin, 16), int(end, 16), int(kib) << 10) for begin, end, kib in
            re.findall(r"^([0-9a-f]+)-([0-9a-f]+) [^\0]*?^Rss: +([0-9]+) kB", read(f"/proc/{pid}/smaps"), re.MULTILINE)]


def is_absent(pid, page):
    with open(f"/proc/{pid}/pagemap", "rb") as file:
        file.seek(page * 8)
        return int.from_bytes(file.read(8), "little") >> 62 == 0


def writes_cores_here():
    pattern = read("/proc/sys/kernel/core_pattern").strip()
    return not pattern.startswith("|") and "/" not in pattern


class Process:
    """A planted program that waits, or has left a core file."""

    def __init__(self, folder, program, scenario):
        self.truth_path = os.path.join(folder, "truth")
        self.folder = folder
        self.program = program
        self.scenario = scenario
        self.process = None

    def start(self, end, environment=None):
        changes = dict(environment or {})
        if self.program == PLANTED:
            changes.setdefault("LD_PRELOAD", DROP_IN)
        self.process = subprocess.Popen(
            [self.program, self.truth_path, self.scenario, end], cwd=self.folder,
            stdout=subprocess.PIPE, text=True, env={**os.environ, **changes},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
        words = self.process.stdout.readline().split()
        assert words and words[1] == "ready", words
        self.pid = int(words[0])
        return self

    def core(self, environment=None):
        """Returns: the path of its core file, written by the system where it can be had, else by gdb."""
        path = os.path.join(self.folder, "a.core")
        if writes_cores_here():
            self.start("abort", environment)
            self.process.wait()
            found = [name for name in os.listdir(self.folder) if name.startswith("core")]
            os.rename(os.path.join(self.folder, found[0]), path)
        else:
            self.start("wait", environment)
            write_core_by_debugger(self.pid, path)
            self.end()
        return path

    def end(self):
        if self.process is not None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended by abort
            self.process.wait(30)
            self.process.stdout.close()
            self.process = None


def write_core_by_debugger(pid, path):
    subprocess.run(["gdb", "-batch", "-p", str(pid), "-ex", f"gcore {path}"], check=True,
                   stdin=subprocess.DEVNULL, timeout=60, capture_output=True)


class CoreBytes:
    """A core file as bytes by address, which can be changed."""

    def __init__(self, path):
        self.data = bytearray(bytes_of(path))
        begin, = struct.unpack_from(POINTER, self.data, 32)
        count, = struct.unpack_from("<H", self.data, 56)
        self.parts = [struct.unpack_from("<IIQQQQQQ", self.data, begin + 56 * i)
                      for i in range(count)]
        self.image = self.data.index(b"ashlarh1\3\0\0\0")

    def place(self, address):
        for kind, _, offset, begin, _, size, _, _ in self.parts:
            if kind == 1 and begin <= address < begin + size:
                return offset + address - begin
        raise KeyError(hex(address))

    def number(self, address, size=8):
        place = self.place(address)
        return int.from_bytes(self.data[place:place + size], "little")

    def change(self, address, value, size):
        place = self.place(address)
        self.data[place:place + size] = value.to_bytes(size, "little")

    def word(self, index, code="I"):
        """A number of the description: docs/heap-image.md."""
        return struct.unpack_from("<" + code, self.data, self.image + index)[0]

    def save(self, path):
        pathlib.Path(path).write_bytes(self.data)
        return path

    # The places of the description that the tests need: bytes from its begin.
    HEAP, RUN_BYTES = 16, 100
    OF_HEAP = 120
    OF_RANGE = OF_HEAP + 11 * 8
    OF_RUN = OF_RANGE + 6 * 8 + 9 * 16

    OF_CENTRAL = OF_RUN + (7 + 3 + 4) * 8
    OF_STASH = OF_CENTRAL + 8
    OF_CACHE = OF_STASH + 3 * 8

    def of_heap(self, index):
        """The place of a part of the first heap."""
        return self.word(self.HEAP, "Q") + self.word(self.OF_HEAP + 8 * index)

    def of_range(self, index):
        """The place of a part of its first range."""
        return self.of_heap(3) + self.word(self.OF_RANGE + 8 * index)

    def table(self, index):
        return self.number(self.of_heap(3) + self.word(self.OF_RANGE + 6 * 8 + 16 * index))

    def of_run(self, page, index):
        """The place of a part of the run of this page."""
        run = self.table(2) + self.number(self.table(1) + 4 * page, 4) * self.word(self.RUN_BYTES)
        return run + self.word(self.OF_RUN + 8 * index)

    def first_slab(self):
        """Returns: its first page."""
        page = 0
        while self.number(self.of_run(page, 4), 1) != 1:
            page += self.number(self.of_run(page, 1), 4)
        return page

    def marks_of(self, page):
        """The places of the marks that lead to the page's begin."""
        begin, marked, marks = self.number(self.of_range(0)) + page * 4096, *map(self.number, (self.of_range(4), self.of_range(5)))
        places = [marks + ((begin - marked) >> shift) for shift in range(4, 8)]
        return [place for place in places if self.number(place, 1) == (2 * begin + 1) & 255]


class LookTest(CommandTest):
    command = COMMAND

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)

    def planted(self, scenario, program=PLANTED):
        process = Process(self.folder, program, scenario)
        self.addCleanup(process.end)
        return process

    def python(self, code):
        """Python runs it on the drop-in library, and has said that it is ready."""
        program = self.start([sys.executable, "-c", code], {"LD_PRELOAD": DROP_IN, "PYTHONMALLOC": "malloc"})
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def json_of(self, *words):
        return json.loads(self.ashlar("inspect", "--json", *words).stdout)

    def list_of(self, what):
        return listed_blocks(self.ashlar("inspect", "--list", what).stdout)


class Blocks(LookTest):
    """Every block in use is found, and nothing else."""

    def agrees(self, result, process, others_max, least=0):
        """`least`: of so many bytes are the smallest blocks that are listed."""
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        listed = listed_blocks(result.stdout)
        truth = {address: size for address, size in read_truth(process.truth_path).items() if size >= least}
        self.assertGreater(len(truth), 500)
        missing = [hex(address) for address in truth if address not in listed]
        self.assertEqual(missing, [])
        small = [hex(address) for address, size in truth.items() if listed[address] < size]
        self.assertEqual(small, [])
        # What is left are the C library's own: each thread's table, the pool for exceptions.
        others = [size for address, size in listed.items() if address not in truth]
        self.assertLessEqual(len([size for size in others if size not in EMERGENCY_POOL]), others_max,
                             others)

    def check(self, scenario, program, others_max):
        with self.subTest(scenario=scenario, program=program, of="core"):
            process = self.planted(scenario, program)
            self.agrees(self.ashlar("inspect", "--list", process.core()), process, others_max)
            process.end()
        with self.subTest(scenario=scenario, program=program, of="process"):
            process = self.planted(scenario, program).start("wait")
            self.agrees(self.ashlar("inspect", "--list", process.pid), process, others_max)
            process.end()

    def test_one_thread(self):
        self.check("alone", PLANTED, 0)
        self.check("alone", LINKED, 0)

    def test_several_threads(self):
        self.check("threads", PLANTED, 5)
        self.check("threads", LINKED, 5)

    def test_child_of_fork(self):
        self.check("fork", PLANTED, 5)
        self.check("fork", LINKED, 5)

    def test_heap_instances(self):
        self.check("instances", LINKED, 1)  # the thread's table of instances
        process = self.planted("instances", LINKED).start("wait")
        heaps = self.json_of(process.pid)["heaps"]
        self.assertEqual({heap["name"]: heap["blocks"] for heap in heaps},
                         {"": 101, "tenant": 500, "other": 100})

    def test_hardened_and_checked(self):
        for settings in ({"ASHLAR_HARDEN": "1"}, {"ASHLAR_HARDEN": "1", **SAMPLES},
                         {"ASHLAR_STATS": "exact"}, SAMPLES, FULL, {**FULL, **SAMPLES}, GUARDS,
                         {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_GUARD": "10"},
                         {"ASHLAR_SAMPLE": "1K", "ASHLAR_SAMPLE_GUARD": "3"}):
            with self.subTest(settings=settings):
                process = self.planted("alone").start("wait", settings)
                # The first call stack takes a block.
                # Blocks of 0 bytes lie in no range where the process is hardened.
                self.agrees(self.ashlar("inspect", "--list", process.pid), process, 1, int("ASHLAR_HARDEN" in settings))
                process.end()

    @unittest.skipUnless(os.uname().machine == "x86_64", "registers are written on x86-64 only")
    def test_a_wait_goes_on(self):
        """A process that waits in epoll_wait is stopped, and its call does not fail with EINTR."""
        waits = ("import ctypes, select\n"
                 "c, poll = ctypes.CDLL(None, use_errno=True), select.epoll()\n"
                 "print('ready', flush=True)\n"
                 "print(c.epoll_wait(poll.fileno(), (ctypes.c_byte * 64)(), 1, 2000), ctypes.get_errno())\n")
        process = self.python(waits)
        time.sleep(0.1)
        self.assertEqual(self.ashlar("inspect", "--json", process.pid).returncode, 0)
        self.assertEqual(process.stdout.read(), "0 0\n")

    def test_totals_are_sums(self):
        core = self.planted("threads").core()
        report = self.json_of(core)
        listed = self.list_of(core)
        self.assertEqual(report["in_use"], {"blocks": len(listed), "bytes": sum(listed.values())})
        for groups in ("by_size", "by_what"):
            self.assertEqual(sum(group["blocks"] for group in report[groups]), len(listed))
            self.assertEqual(sum(group["bytes"] for group in report[groups]), sum(listed.values()))
        self.assertGreater(report["free"]["in_caches"]["blocks"], 0)
        self.assertGreater(report["free"]["in_slabs"]["blocks"], 0)
        self.assertEqual(report["signal"], int(signal.SIGABRT))

    def test_all_memory_adds_up(self):
        mib = 1 << 20
        for settings in ({}, {"ASHLAR_HARDEN": "1"}, FULL, SAMPLES):
            with self.subTest(settings=settings):
                process = self.planted("parts").start("wait", settings)
                look = self.json_of(process.pid)
                resident = int(re.search("^Rss: +([0-9]+)", read(f"/proc/{process.pid}/smaps_rollup"), re.MULTILINE)[1]) << 10
                memory = look["memory"]
                total = memory.pop("sum")
                self.assertEqual(sum(memory.values()), total, memory)
                self.assertAlmostEqual(total, resident, delta=64 << 10)
                self.assertLessEqual(memory["in_use"], look["in_use"]["bytes"])
                self.assertGreater(memory["in_use"], look["in_use"]["bytes"] * 0.7)
                # Pages that were only read are the system's one page of zeros: other memory, and taken off again.
                for part, least, most in (("other", 26, 29), ("shared", 7, 20), ("closed", 2, 2), ("stacks", 1, 2),
                                          ("only_read", -7, -6)):
                    self.assertGreaterEqual(memory[part], least * mib, memory)
                    self.assertLessEqual(memory[part], most * mib, memory)
                text = self.ashlar("inspect", process.pid).stdout
                self.assertIn("MiB  resident, in all\n", text)
                process.end()
        core = self.json_of(self.planted("parts").core())["memory"]
        total = core.pop("sum")
        self.assertEqual(sum(core.values()), total, core)
        self.assertGreater(core["other"], 20 * mib)

    def test_pages_by_what_keeps_them(self):
        page, mib = 4096, 1 << 20
        kinds = ("full", "partly", "hollow", "free")
        process = self.planted("pages")
        for of in ("process", "core"):
            subject = process.core() if of == "core" else process.start("wait").pid
            report = self.json_of(subject)
            pages = report["pages"]
            by_size = {row["block_size"]: row for row in report["by_size"]}
            for size in (256, 512):
                used = collections.Counter(address // page for address, bytes in self.list_of(subject).items()
                                           if bytes == size)
                row = by_size[size]
                self.assertEqual(row["full"], page * sum(n * size == page for n in used.values()))
                self.assertEqual(row["hollow"], page * sum(n * size < page // 4 for n in used.values()))
                self.assertEqual(row["full"] + row["hollow"] + row["partly"], page * len(used))
                self.assertGreater(min(row[kind] for kind in kinds[:3]), 1.9 * mib)
            # Those of 512 bytes stay in memory. A core file has zeros for what was given back.
            purged = "purged" if of == "process" else "free"
            self.assertGreater(by_size[256][purged], 1.9 * mib)
            self.assertGreater(by_size[512]["free"], 1.9 * mib)
            for kind in kinds + ("purged", "untouched"):
                self.assertEqual(sum(row[kind] for row in report["by_size"]) + pages["no_block"][kind], pages[kind])
            self.assertEqual(sum(pages[kind] for kind in kinds) + pages["tables"], pages["in_memory"])
            self.assertEqual(pages["in_memory"] + sum(pages["beside"].values()), pages["mappings"])
            self.assertEqual(pages["in_memory"], sum(report["memory"][part] for part in
                                                     ("in_use", "free_blocks", "free_pages", "heap_tables")))
            if of == "core":
                continue
            self.assertEqual(by_size[0]["untouched"], 2 * mib)
            self.assertEqual(pages["beside"]["unknown"], 0)
            self.assertAlmostEqual(pages["beside"]["only_read"], -2 * mib, delta=16 << 10)
            blocks = self.list_of(process.pid)
            resident = sum(rss for begin, end, rss in resident_mappings(process.pid)
                           if any(begin <= address < end for address in blocks))
            # What holds blocks has no tables, and what was only read is not counted by the system.
            self.assertAlmostEqual(pages["in_memory"] - pages["tables"] - 2 * mib, resident, delta=64 << 10)
            numbers = [address // page for address, bytes in blocks.items() if bytes == 256]
            empty = set(range(min(numbers), max(numbers))) - set(numbers)
            absent = sum(is_absent(process.pid, number) for number in empty)
            self.assertAlmostEqual(by_size[256]["purged"], absent * page, delta=64 << 10)
            self.assertIn("read and never written = ", self.ashlar("inspect", process.pid).stdout)
            process.end()

    def test_pages_that_few_blocks_keep(self):
        process = self.planted("pins").start("wait")
        live = collections.Counter()  # bytes, by page
        for address, size in self.list_of(process.pid).items():
            if size <= 32 * 1024:
                for byte in range(address, address + size, 16):
                    live[byte // 4096] += 16
        hollow = [4096 - used for used in live.values() if used < 1024]
        report = self.json_of(process.pid)
        pinned = report["pinned"]
        self.assertEqual((report["pages"]["hollow"], pinned["bytes"]), (len(hollow) * 4096, sum(hollow)))
        self.assertGreater(len(hollow), 1900)
        self.assertEqual(sum(group["bytes"] for group in pinned["groups"]), pinned["bytes"])
        text = self.ashlar("inspect", process.pid).stdout
        self.assertRegex(text, r"What keeps [\d.]+ MiB of free bytes in hollow pages:\n")
        clean = self.ashlar("inspect", self.planted("freed").start("wait").pid).stdout
        self.assertNotIn("in hollow pages", clean)
        process.end()
        sampled = self.ashlar("inspect", process.start("wait", {"ASHLAR_SAMPLE": "16K"}).pid).stdout
        self.assertRegex(sampled, r"\n +[\d,]+ +208 +[\d.]+ MiB +other data +.*take_what_stays")

    def test_a_thread_that_ended_leaves_its_blocks_in_stashes(self):
        report = self.json_of(CORES["lost"])
        self.assertGreater(report["free"]["in_stashes"]["blocks"], 0)


class Lost(LookTest):
    """What no pointer leads to, by type and size."""

    def test_from_a_core_and_a_process(self):
        process = self.planted("lost")
        results = [self.ashlar("inspect", "--json", process.core())]
        process.end()
        process.start("wait")
        results.append(self.ashlar("inspect", "--json", process.pid))
        for result in results:
            report = json.loads(result.stdout)
            found = {(group["what"], group["is_type"]): group["blocks"]
                     for group in report["unreachable"]["groups"]}
            self.assertEqual(found, {("(anonymous namespace)::lost_circle", True): 9,
                                     ("pointers", False): 2, ("text", False): 1})
            self.assertEqual(counts(report["by_what"])["(anonymous namespace)::kept_square"], 1000)

    def test_with_samples_and_checks(self):
        """Their records name the calls, and lead to no block. What checks add to blocks is left out."""
        for settings in (SAMPLES, FULL, GUARDS):
            with self.subTest(settings=settings):
                process = self.planted("lost").start("wait", settings)
                report = self.json_of(process.pid)
                groups = report["unreachable"]["groups"]
                self.assertEqual(counts(groups), {"(anonymous namespace)::lost_circle": 9, "pointers": 2, "text": 1})
                for group in groups:
                    self.assertEqual(sum(site["blocks"] for site in group["sites"]), group["blocks"])
                    for site in group["sites"]:
                        self.assertIn("::lose in heap_image_planted", site["frames"][0])
                        self.assertRegex(site["sources"][0], "planted.cpp:[0-9]+")
                self.assertEqual(counts(report["by_what"])["(anonymous namespace)::kept_square"], 1000)
                self.assertLess(report["in_use"]["bytes"], 200_000)  # a sample's page does not count
                text = self.ashlar("inspect", "--unreachable", process.pid).stdout
                self.assertRegex(text, r"lost_circle +\(anonymous namespace\)::lose in "
                                       r"heap_image_planted at planted.cpp:[0-9]+ +0x[0-9a-f]+\n")
                process.end()

    def test_types_without_symbols(self):
        stripped = self.path("stripped")
        subprocess.run(["strip", "-s", "-o", stripped, PLANTED], check=True)
        process = self.planted("lost", stripped)
        process.start("wait", {"LD_PRELOAD": DROP_IN})
        self.assertEqual(counts(self.json_of(process.pid)["by_what"])["(anonymous namespace)::kept_square"], 1000)

    def test_a_root_that_the_user_names(self):
        process = self.planted("lost").start("wait")
        text = next(group for group in self.json_of(process.pid)
                    ["unreachable"]["groups"] if group["what"] == "text")
        again = self.json_of("--root", text["examples"][0],
                                  process.pid)
        self.assertEqual(again["unreachable"]["blocks"], 11)

    def test_the_text(self):
        core = CORES["lost"]
        result = self.ashlar("inspect", core)
        self.assertIn("ended by signal 6 (Aborted)", result.stdout)
        self.assertRegex(result.stdout, r"No pointer leads to [0-9.]+ KiB in 12 blocks:")
        self.assertRegex(result.stdout, r" 9 +128 .*lost_circle +0x[0-9a-f]+ 0x[0-9a-f]+ 0x")
        only = self.ashlar("inspect", "--unreachable", core).stdout
        self.assertTrue(only.startswith("No pointer leads to"))
        self.assertNotIn("by size", only)

    def test_the_program_elsewhere(self):
        moved = self.path("moved")
        shutil.copy(PLANTED, moved)
        core = self.core_of(moved)
        os.rename(moved, moved + "_again")
        gone = self.ashlar("inspect", core)
        self.assertIn("is gone, so what is in it has no names", gone.stderr)
        result = self.ashlar("inspect", core, moved + "_again")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("lost_circle", result.stdout)
        pathlib.Path(moved).write_bytes(bytes_of("/bin/true"))
        self.assertIn("is another file now than the process had", self.ashlar("inspect", core).stderr)

    def core_of(self, program):
        process = self.planted("lost", program).start("wait", {"LD_PRELOAD": DROP_IN})
        path = self.path("moved.core")
        write_core_by_debugger(process.pid, path)
        return path


class What(LookTest):
    """`--what ADDRESS`."""

    def setUp(self):
        super().setUp()
        self.core = CORES["lost"]

    def what(self, address):
        result = self.ashlar("inspect", "--json", "--what", hex(address), self.core)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_a_block_in_use(self):
        report = self.json_of(self.core)
        square = next(g for g in report["by_what"] if g["what"].endswith("kept_square"))
        first = int(square["examples"][0], 16)
        answer = self.what(first + 9)
        self.assertEqual(answer["offset"], 9)
        self.assertEqual(answer["block"]["what"], "(anonymous namespace)::kept_square")
        self.assertTrue(answer["block"]["in_use"])
        self.assertEqual(int(answer["block"]["address"], 16), first)
        self.assertIn("kept_square", answer["pointers"][0]["where"])
        self.assertEqual(int(answer["behind"]["address"], 16), first + answer["block"]["bytes"])
        text = self.ashlar("inspect", "--what", hex(first + 9), self.core).stdout
        self.assertIn("9 bytes into a block that is in use", text)

    def test_what_a_global_points_to(self):
        newest = list(read_truth(os.path.join(os.path.dirname(self.core), "truth")))[999]
        where = [pointer["where"] for pointer in self.what(newest)["pointers"]]
        self.assertIn("first_square in heap_image_planted", where)
        self.assertIn("(anonymous namespace)::squares in heap_image_planted", where)

    def test_other_addresses(self):
        self.assertIn("no mapping", self.what(0x10)["place"])
        listed = self.list_of(self.core)
        size = max(set(listed.values()), key=list(listed.values()).count)
        free = next(a + size for a, s in sorted(listed.items()) if s == size and a + size not in listed
                    and (self.what(a + size).get("block") or {}).get("in_use") is False)
        self.assertIn(self.what(free)["block"]["what"],
                      ("in its slab", "in a shared cache, for any thread", "in a thread's cache"))

    def test_who_allocated_it(self):
        for settings in (SAMPLES, FULL, GUARDS):
            with self.subTest(settings=settings):
                process = self.planted("lost").start("wait", settings)
                lost = self.json_of(process.pid)["unreachable"]
                text = next(group for group in lost["groups"] if group["what"] == "text")
                address = int(text["examples"][0], 16)
                answer = self.ashlar("inspect", "--what", hex(address), process.pid).stdout
                self.assertIn("0 bytes into a block that is in use", answer)
                self.assertRegex(answer, r"allocated +(by malloc in thread [0-9]+, )?300 bytes\n"
                                         r"      .*::lose in heap_image_planted at .*planted.cpp:")
                if settings is not SAMPLES:  # they know where it ends
                    answer = self.ashlar("inspect", "--what", hex(address + 304), process.pid).stdout
                    self.assertIn("4 bytes behind the end of a block that is in use", answer)
                    # Of several: a guard chooses for each on which side of it the closed page is.
                    for example in (e for group in lost["groups"] for e in group["examples"]):
                        answer = self.ashlar("inspect", "--what", hex(int(example, 16) - 3), process.pid).stdout
                        self.assertIn("3 bytes before a block that is in use", answer)
                process.end()

    def test_who_freed_it(self):
        for settings, where in ((FULL, "in the queue of freed blocks"),
                                (GUARDS, "a guarded block, closed since")):
            with self.subTest(settings=settings):
                process = self.planted("freed").start("wait", settings)
                address = next(iter(read_truth(process.truth_path)))
                report = self.json_of("--what", hex(address + 7),
                                           process.pid)
                block = report["block"]
                self.assertEqual((block["in_use"], block["bytes"], block["what"], report["offset"]),
                                 (False, 100, where, 7))
                self.assertEqual((block["allocated"]["by"], block["freed"]["by"]), ("malloc", "free"))
                self.assertIn("keep_what_is_freed", block["allocated"]["frames"][0])
                self.assertIn("free_early", block["freed"]["frames"][0])
                text = self.ashlar("inspect", "--what", hex(address + 7), process.pid).stdout
                self.assertRegex(text, r"freed +by free in thread [0-9]+\n      .*free_early")
                listed = self.list_of(process.pid)
                self.assertNotIn(address, listed)
                process.end()

    def test_no_address(self):
        self.refused(2, "is no address", "inspect", "--what", "there", self.core)


class BadCores(LookTest):
    def test_no_core(self):
        text = write(self.path("text"), "no core\n" * 100)
        packed = self.path("packed")
        pathlib.Path(packed).write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
        for path, why in ((text, "no core file.*ulimit -c unlimited"), (PLANTED, "no core file.*name the core first"),
                          (text + "_gone", "no such file"), (self.folder, "a core file is needed"), (packed, "compressed.*zstd -d"),
                          ("server", "there is no such file")):
            result = self.ashlar("inspect", path)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, rf"\Aashlar: .*{why}.*\n\Z")

    def test_without_the_library(self):
        process = self.planted("alone")
        process.start("wait", {"LD_PRELOAD": ""})
        core = self.path("other.core")
        write_core_by_debugger(process.pid, core)
        for subject in (core, process.pid):
            self.refused(1, "no ashlar heap.*LD_PRELOAD", "inspect", subject)

    def test_cut_off(self):
        data, path, seen = bytes_of(CORES["alone"]), self.path("short"), set()
        for tenths in range(0, 10):
            pathlib.Path(path).write_bytes(data[:100 + len(data) * tenths // 10])
            result = self.ashlar("inspect", path)
            self.assertIn(result.returncode, (1, 2), tenths)
            self.assertRegex(result.stderr, "is cut off|it ends (with|be)", tenths)
            self.assertRegex(result.stderr, "disk full|copied as a whole")
            seen.add(result.returncode)
        self.assertEqual(seen, {1, 2})

    def test_what_another_library_wrote(self):
        for mark, at, value, why in ((b"ashlarh1\3\0\0\0", 8, b"\x09\0\0\0", "version 9.*version 3.*that belongs to that library"),
                                     (b"ashlarw1\1\0\0\0", 8, b"\x09\0\0\0", "its checks by version 9.*version 1"),
                                     (b"ashlarh1\3\0\0\0", 0, bytes(8), "was overwritten")):
            core = CoreBytes(CORES["alone"])
            place = core.data.index(mark) + at
            core.data[place:place + len(value)] = value
            self.refused(1, why, "inspect", core.save(self.path("changed")))


class BrokenHeaps(LookTest):
    """Which law is broken is told, and the rest of the heap as well."""
    UNCOVERED = "the records of runs do not cover the range"

    def setUp(self):
        super().setUp()
        path = CORES["alone"]
        self.core = CoreBytes(path)
        self.before = len(self.list_of(path))

    def is_told(self, name, lost_max):
        path = self.core.save(self.path("broken"))
        result = self.ashlar("inspect", "--json", path)
        self.assertEqual(result.returncode, 1)
        report = json.loads(result.stdout)
        self.assertTrue(any(re.search(name, each) for each in report["broken"]), report["broken"])
        self.assertGreaterEqual(report["in_use"]["blocks"], self.before - lost_max)
        self.assertLessEqual(report["in_use"]["blocks"], self.before)
        self.assertRegex(self.ashlar("inspect", path).stdout, "(?s)tables contradict each other.*" + name)

    def test_each_law(self):
        """Where a number of the heap's tables is another one: what is told, and how many blocks are not found."""
        core, page, original = self.core, self.core.first_slab(), bytes(self.core.data)
        cache = core.number(core.of_heap(9))
        stash = core.of_heap(7) + 3 * core.word(core.RUN_BYTES + 8) + core.word(core.OF_CENTRAL)
        lengths = [core.of_range(index) for index in (1, 2, 3)]
        for places, value, size, told, lost_max in (
                ([core.of_run(page, 3)], 7777, 4, "free_blocks is 7777, and [0-9]+ bits are 1", 0),
                ([core.of_run(page, 5)], 200, 1, "is of class 200, which has other slabs", 1200),
                ([core.table(0) + page], 77, 1, "its record says class [0-9]+, and the table of pages 77", 1200),
                ([core.of_run(page, 0)], page + 1, 4, self.UNCOVERED, 1200),
                (core.marks_of(page), 2, 1, "marks contradict what they mark", 1),
                (lengths[1:2], 1 << 40, 8, "not top <= commit_end <= pages", self.before),
                (lengths, 1 << 44, 8, "its table of runs is shorter", self.before),
                ([cache + core.word(core.OF_CACHE)], cache, 8, "list of caches at 0x[0-9a-f]+ leads round in a circle", 0),
                ([stash + core.word(core.OF_STASH + 8)], 1 << 50, 8, "the stash of blocks of 48 bytes has 1125899906842624 of them", 0)):
            with self.subTest(told=told):
                core.data[:] = original
                for place in places:
                    core.change(place, value, size)
                self.is_told(told, lost_max)

    def test_length_of_a_range(self):
        """It ends where its table does, however long it says that it is."""
        for index in (1, 2, 3):
            self.core.change(self.core.of_range(index), 1 << 48, 8)
        self.core.change(self.core.of_range(6 + 2 + 1), 1 << 50, 8)  # the bytes of the table of runs
        self.is_told(self.UNCOVERED, 0)

    def test_records_of_checks(self):
        self.core = CoreBytes(self.planted("alone").core(FULL))
        image = self.core.data.index(b"ashlarw1\1\0\0\0")
        watch, = struct.unpack_from(POINTER, self.core.data, image + 16)
        offset, = struct.unpack_from("<I", self.core.data, image + 48)
        table = self.core.number(watch + offset)
        bucket = next(at for at in range(table, table + 8 * 4096, 8) if self.core.number(at) != 0)
        self.core.change(bucket, 64, 8)
        result = self.ashlar("inspect", "--json", self.core.save(self.path("broken")))
        self.assertEqual(result.returncode, 1)
        report = json.loads(result.stdout)
        self.assertIn("a list of records of checks leads to 0x40", report["broken"][0])
        self.assertGreater(report["in_use"]["blocks"], 1000)  # the rest is told, too

    def test_random_bytes_never_hang_it(self):
        numbers = random.Random(3)
        original = bytes(self.core.data)
        tables = [self.core.word(self.core.HEAP, "Q"), self.core.table(1), self.core.table(2)]
        for round_number in range(12):
            self.core.data[:] = original
            for _ in range(40):
                self.core.change(numbers.choice(tables) + 8 * numbers.randrange(400), numbers.getrandbits(64), 8)
            result = self.ashlar("inspect", self.core.save(self.path("random")), timeout=60)
            self.assertIn(result.returncode, (0, 1), (round_number, result.stderr))


class Processes(LookTest):
    def state(self, pid):
        status = dict(line.split(":\t", 1) for line in read(f"/proc/{pid}/status").splitlines() if ":\t" in line)
        return status["State"][0], status["TracerPid"]

    def test_it_goes_on(self):
        process = self.planted("threads").start("wait")
        for _ in range(3):
            self.assertEqual(self.ashlar("inspect", process.pid).returncode, 0)
            self.assertEqual(self.state(process.pid), ("S", "0"))

    def test_one_that_was_stopped_stays_so(self):
        process = self.planted("alone").start("wait")
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        self.assertEqual(self.ashlar("inspect", process.pid).returncode, 0)
        time.sleep(0.1)
        self.assertEqual(self.state(process.pid), ("T", "0"))
        os.kill(process.pid, signal.SIGCONT)

    def test_it_computes_the_same(self):
        """A program that counts signals, reads a pipe and sleeps meanwhile notices nothing."""
        code = ("import signal,time,sys\n"
                "got=[]\n"
                "for s in (signal.SIGCONT,signal.SIGTRAP,signal.SIGCHLD): "
                "signal.signal(s,lambda n,f: got.append(n))\n"
                "print('ready',flush=True)\n"
                "begin=time.monotonic(); time.sleep(1); line=sys.stdin.readline()\n"
                "print(got,line.strip(),time.monotonic()-begin>=1,sum(range(10**7)))\n")
        program = self.python(code)
        for _ in range(10):
            self.assertEqual(self.ashlar("inspect", "--list", program.pid).returncode, 0)
            time.sleep(0.05)
        rest, _ = program.communicate("a line\n")
        self.assertEqual(rest, "[] a line True 49999995000000\n")

    def test_nobody_there(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.refused(1, f"there is no process {ended.pid}.*pgrep", "inspect", ended.pid)
        zombie = subprocess.Popen(["true"])
        time.sleep(0.3)
        self.refused(1, "has ended", "inspect", zombie.pid)
        zombie.wait()

    def test_killed_command(self):
        """The process goes on when the command is killed while it stands still."""
        code = ("block = bytearray(96 << 20)\n"
                "for at in range(0, len(block), 4096): block[at] = 1\n"
                "print('ready', flush=True)\n"
                "input()\n")
        program = self.python(code)
        stopped = 0
        for _ in range(5):
            with subprocess.Popen([COMMAND, "inspect", "--list", str(program.pid)],
                                  stdout=subprocess.DEVNULL) as command:
                deadline = time.monotonic() + 10
                while time.monotonic() < deadline and self.state(program.pid)[0] != "t":
                    pass
                stopped += self.state(program.pid)[0] == "t"
                command.kill()
            wait_until(lambda: self.state(program.pid) == ("S", "0"))
            self.assertEqual(self.state(program.pid), ("S", "0"))
        self.assertGreater(stopped, 0)
        self.assertEqual(self.ashlar("inspect", program.pid).returncode, 0)
        program.communicate("\n")
        self.assertEqual(program.returncode, 0)

    def test_process_that_dies_meanwhile(self):
        said = set()
        for delay in range(30):
            process = self.planted("alone").start("wait")
            command = subprocess.Popen([COMMAND, "inspect", str(process.pid)], text=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(0.0005 * delay)
            process.end()
            _, error = command.communicate()
            self.assertIn(command.returncode, (0, 1), error)
            if command.returncode == 1:
                self.assertEqual(len(error.splitlines()), 1, error)
                said.add(re.sub("[0-9]+", "N", error.strip()))
        for line in said:
            self.assertRegex(line, "process N is gone|there is no process N|process N has ended|"
                                   "has no memory")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to be another user")
    def test_process_of_another_user(self):
        process = self.planted("alone").start("wait")
        self.refused(1, "belongs to another user.*as root", "inspect", process.pid, user=NOBODY)

    def test_traced_process(self):
        process = self.planted("alone").start("wait")
        debugger = subprocess.Popen(["gdb", "-q", "-nx", "-p", str(process.pid), "-ex", "continue"],
                                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        wait_until(lambda: self.state(process.pid) == ("S", str(debugger.pid)))
        try:
            self.refused(1, f"is traced by process.*{debugger.pid}", "inspect", process.pid)
        finally:
            debugger.kill()
            debugger.wait()
            debugger.stdin.close()


class Debuggers(LookTest):
    """The commands of gdb do the same on a process and on a core."""

    def gdb(self, *words):
        script = os.path.join(DEBUGGER, "ashlar_debugger.py")
        return subprocess.run(["gdb", "-q", "-nx", "-batch", "-ex", f"source {script}", *words],
                              capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, "ASHLAR_COMMAND": COMMAND}).stdout

    def has_all(self, text):
        self.assertIn("kept_square", text)
        self.assertRegex(text, r" 9 +128 .*lost_circle")
        self.assertIn("first_square in heap_image_planted", text)

    def test_on_a_process(self):
        process = self.planted("lost").start("wait")
        text = self.gdb("-p", str(process.pid), "-ex", "ashlar heap", "-ex", "ashlar leaks", "-ex",
                        "ashlar what first_square")
        self.has_all(text)
        self.assertIn("into a block that is in use", text)

    def test_on_a_core(self):
        core = CORES["lost"]
        self.has_all(self.gdb(PLANTED, core, "-ex", "ashlar heap", "-ex", "ashlar leaks", "-ex",
                              "ashlar what first_square"))

    @unittest.skipIf(LLDB is None, "lldb is not installed")
    def test_lldb(self):
        core = CORES["lost"]
        script = os.path.join(DEBUGGER, "ashlar_debugger.py")
        text = subprocess.run([LLDB, "-b", "-o", f"command script import {script}", "-o",
                               f"target create {PLANTED} --core {core}", "-o", "ashlar heap", "-o",
                               "ashlar leaks", "-o", "ashlar what first_square"], check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                              env={**os.environ, "ASHLAR_COMMAND": COMMAND}).stdout
        self.has_all(text)

    def test_without_a_program(self):
        self.assertIn("there is no process and no core", self.gdb("-ex", "ashlar heap"))


if __name__ == "__main__":
    if shutil.which("gdb") is None:
        sys.exit("look_test.py needs gdb (Debian: apt-get install gdb)")
    with tempfile.TemporaryDirectory() as shared:
        for each in ("alone", "lost"):
            os.mkdir(os.path.join(shared, each))
            CORES[each] = Process(os.path.join(shared, each), PLANTED, each).core()
        run_together(2, sys.argv[6:])
