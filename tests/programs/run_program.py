#!/usr/bin/env python3
"""Runs an unmodified program twice, on the system's allocator and on the library, and compares what
comes out byte for byte: standard output, exit code and the files that matter.

usage: run_program.py NAME LIBRARY [SIZE]      SIZE, a percentage of the full work of those that have one (default 100)

NAME is one of PROGRAMS below; git, perl, sqlite3 and others are bench/programs/real_programs.py's. self_compile builds the library itself with each compiler, the compilers and ninja being on
the library, and compares every object's bytes. Exit code 77: the program is not installed. Everything happens in a
temporary directory.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

SKIPPED = 77
TIMEOUT = 1200  # seconds for one command on a loaded machine


class Skip(Exception):
    pass


class World:
    """One of the two runs: its directory and its environment."""

    def __init__(self, directory, library):
        self.directory = directory
        self.library = library
        self.results = []

    def environment(self, extra=None):
        keep = {k: os.environ[k] for k in ("PATH", "HOME") if k in os.environ}
        keep.update({"LC_ALL": "C", "TZ": "UTC", "TMPDIR": self.directory})
        if self.library:
            keep["LD_PRELOAD"] = self.library
        keep.update(extra or {})
        return keep

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, command, stdin=None, extra=None, expect=0):
        """Runs the command in the directory; its output becomes part of the comparison."""
        done = subprocess.run(command, cwd=self.directory, env=self.environment(extra),
                              input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT, check=False)
        if done.returncode != expect:
            raise AssertionError(
                f"{' '.join(command[:3])}: exit code {done.returncode}, expected {expect}"
                f" ({'library' if self.library else 'system'} run)\n"
                + done.stderr.decode(errors="replace")[-2000:])
        for alarm in (b"ashlar:", b"ld.so:"):
            if alarm in done.stderr:
                raise AssertionError(done.stderr.decode(errors="replace")[-2000:])
        self.results.append((" ".join(command[:4]), done.stdout))
        return done.stdout


def program(name):
    found = shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


# ---- python3 ----

PYTHON_THREADS = r"""
import threading, queue, hashlib
work, results = queue.Queue(), []
def worker():
    while True:
        item = work.get()
        if item is None: return
        data = bytearray()
        for i in range(400): data += bytes([item * i % 256]) * (i * 17 % 3000)
        table = {str(i) * 3: [i] * (i % 60) for i in range(3000)}
        results.append((item, hashlib.md5(data).hexdigest(), len(table)))
threads = [threading.Thread(target=worker) for _ in range(6)]
for t in threads: t.start()
for i in range(18): work.put(i)
for _ in threads: work.put(None)
for t in threads: t.join()
for r in sorted(results): print(*r)
"""

PYTHON_PROCESSES = r"""
import os, subprocess, sys, threading, multiprocessing
def square(n): return sum(len(str(i)) for i in range(n * 100))
if __name__ == "__main__":
    busy = threading.Event()
    def churn():
        while not busy.is_set(): [bytearray(i) for i in range(0, 20000, 97)]
    noise = [threading.Thread(target=churn) for _ in range(2)]
    for t in noise: t.start()
    for i in range(8):
        out = subprocess.run([sys.executable, "-c", f"print(sum(range({i}000)), 'y' * {i})"],
                             capture_output=True, text=True, check=True).stdout
        print(out.strip())
    for i in range(10):
        child = os.fork()
        if child == 0:
            keep = [str(n) * 9 for n in range(20000)]
            os._exit(len(keep) % 251)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    busy.set()
    for t in noise: t.join()
    with multiprocessing.get_context("fork").Pool(3) as pool: print(pool.map(square, range(40)))
"""


def python3(world, _size):
    # Without its own small-object pools, so that every object comes from malloc; and with them.
    for name, text in (("threads", PYTHON_THREADS), ("processes", PYTHON_PROCESSES)):
        world.write(name + ".py", text)
        for allocator in ("malloc", "pymalloc"):
            world.run([sys.executable, "-I", name + ".py"] if allocator == "pymalloc" else
                      [sys.executable, name + ".py"],
                      extra={"PYTHONHASHSEED": "0", "PYTHONMALLOC": allocator})


# ---- bash ----

BASH = r"""
declare -A table; list=(); text=""
for ((i = 0; i < 20000; i++)); do
  table[k$((i * 7919 % 4001))]+="$((i % 10))"; list+=("$i"); ((i % 50)) || text+="${list[i / 2]}:"
done
echo "${#table[@]} ${#list[@]} ${#text}"; echo "${table[k17]} $text"
for i in {1..60}; do echo "$(echo "sub $i" | (read -r a b; echo "$b $a"))"; done
(for i in {1..20}; do printf '%s\n' "${list[@]:i*100:50}"; done) | sort | uniq -c | sort -rn | head -40
mapfile -t lines < <(printf '%s\n' "${!table[@]}" | sort); echo "${lines[*]:0:100}"
"""


def bash(world, _size):
    world.write("script.sh", BASH)
    world.run([program("bash"), "--norc", "script.sh"])


# ---- php ----

PHP_OBJECTS = r"""
$rows = [];
for ($i = 0; $i < 20000; $i++) $rows[] = ['id' => $i, 'name' => str_repeat(chr(65 + $i % 26), $i % 90), 'x' => sqrt($i)];
$text = json_encode($rows);
$again = json_decode($text, true);
usort($again, fn($a, $b) => [$a['name'], $a['id']] <=> [$b['name'], $b['id']]);
echo strlen($text), ' ', md5(serialize($again)), ' ', count(array_unique(array_column($again, 'name'))), "\n";
preg_match_all('/"name":"([A-M]+)"/', $text, $found);
echo count($found[1]), ' ', md5(implode(',', $found[1])), ' ', mb_substr_fallback($text), "\n";
function mb_substr_fallback($s) { return iconv('UTF-8', 'UTF-16LE', substr($s, 10, 20)) === false ? 'no' : 'yes'; }
$info = new finfo(FILEINFO_MIME);
echo $info->buffer("\x89PNG\r\n\x1a\n"), ' ', $info->buffer('<?php echo 1;'), "\n";
$packed = gzcompress($text, 6);
echo md5(gzuncompress($packed)), ' ', ctype_alpha('abc'), ' ', cal_days_in_month(CAL_GREGORIAN, 2, 2024), "\n";
echo count(get_loaded_extensions()) > 20 ? 'modules' : 'few modules', "\n";
"""


def php(world, _size):
    """Opens its modules with RTLD_DEEPBIND: their blocks are freed by the program, and the other way round."""
    world.run([program("php"), "-r", PHP_OBJECTS])
    # Without its own lists of free blocks: every block is one of malloc's.
    world.run([program("php"), "-r", PHP_OBJECTS], extra={"USE_ZEND_ALLOC": "0"})


# ---- redis ----

class Redis:
    """A server on a Unix socket in the world's directory, which keeps its data on disk."""

    def __init__(self, world):
        self.world = world
        self.server, self.client = program("redis-server"), program("redis-cli")
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def start(self):
        socket = self.world.path("s")
        with open(self.world.path("server.log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.server, "--port", "0", "--unixsocket", socket, "--dir", self.world.directory, "--daemonize", "no",
                 "--save", "1 100", "--appendonly", "no", "--enable-debug-command", "yes"],
                cwd=self.world.directory, env=self.world.environment(), stdout=log, stderr=log)
        for _ in range(600):
            if self.process.poll() is not None:
                raise AssertionError(f"redis-server ended at its start:\n{self.log()[-2000:]}")
            answer = subprocess.run([self.client, "-s", socket, "ping"], capture_output=True, check=False)
            if answer.stdout.strip() == b"PONG":
                return
            time.sleep(0.05)
        raise AssertionError("redis-server does not answer")

    def ask(self, *words, compared=True, **options):
        answer = self.world.run([self.client, "-s", self.world.path("s"), *words], **options)
        if not compared:
            self.world.results.pop()
        return answer

    def load(self, requests):
        self.world.run([program("redis-benchmark"), "-s", self.world.path("s"), "-q", "-n", str(requests), "-c", "20",
                        "-d", "300", "-r", "5000", "--dbnum", "1", "-P", "4",
                        "-t", "set,get,incr,lpush,lpop,sadd,hset,spop,zadd,mset"])
        self.world.results.pop()  # times

    def stop(self):
        self.ask("SHUTDOWN", "SAVE", compared=False)
        code = self.process.wait(timeout=120)
        if code != 0:
            raise AssertionError(f"redis-server ended with {code}:\n{self.log()[-2000:]}")
        for alarm in ("ashlar: ", "Guru Meditation", "REDIS BUG REPORT"):
            if alarm in self.log():
                raise AssertionError(self.log()[-3000:])

    def log(self):
        return pathlib.Path(self.world.path("server.log")).read_text(errors="replace")


def redis(world, size):
    """Under load, saved by forked children meanwhile, shut down, started again: the data is the same, each time."""
    def commands(round_number):
        for i in range(100 * size):
            yield f"SET key:{i * 7 % 5003} {round_number}.{'v' * (i * 37 % 900)}"
            yield f"HSET hash:{i % 50} field{i} value{i}.{round_number}"
            yield f"ZADD sorted {i * 7919 % 10007} member{i % 3001}"
            yield f"RPUSH list:{i % 20} element{i}"
            yield f"APPEND grown:{i % 300} {'g' * (i % 200)}"
            yield f"XADD stream {round_number * 1_000_000 + i}-1 field value{i}"
            if i % 3 == 0:
                yield f"DEL key:{i // 2 % 5003}"

    with Redis(world) as server:
        server.start()
        for round_number in range(1, 4):
            server.ask(stdin="\n".join(commands(round_number)).encode())
            server.load(200 * size)
            digest = server.ask("DEBUG", "DIGEST", compared=False)  # of all, the random load's too
            server.stop()
            server.start()
            if server.ask("DEBUG", "DIGEST", compared=False) != digest:
                raise AssertionError("after the restart redis-server has other data than before")
            if len(digest.strip()) != 40 or not digest.strip(b"0\n"):
                raise AssertionError(f"the data's digest is {digest!r}: there was nothing to compare")
        server.ask("-n", "1", "FLUSHDB")
        server.ask("DEBUG", "DIGEST")
        for question in (("DBSIZE",), ("ZRANGE", "sorted", "0", "-1", "WITHSCORES"), ("HLEN", "hash:7"),
                         ("LRANGE", "list:3", "0", "-1"), ("GET", "grown:5"), ("XLEN", "stream")):
            server.ask(*question)
        server.stop()


# ---- the project itself ----

def self_compile(world, _size):
    """The library by each compiler, two compilations at once; the objects' bytes must not know the allocator."""
    for compiler_c, compiler in (("gcc", "g++"), ("clang-19", "clang++-19")):
        build = world.path(compiler)
        world.run([program("cmake"), "-G", "Ninja", "-S", str(ROOT), "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                   f"-DCMAKE_C_COMPILER={program(compiler_c)}", f"-DCMAKE_CXX_COMPILER={program(compiler)}",
                   "-DASHLAR_BUILD_TESTS=OFF", "-DASHLAR_BUILD_TOOLS=OFF", "-DASHLAR_BUILD_BENCH=OFF",
                   "-DASHLAR_BUILD_EXAMPLES=OFF"])
        world.results.pop()  # it tells its time
        world.run([program("cmake"), "--build", build, "-j", "2"])
        world.results.pop()  # two at once, in any order
        made = sorted(p for p in pathlib.Path(build).rglob("*") if p.suffix in (".o", ".a", ".so") and p.is_file())
        if len(made) < 10:
            raise AssertionError(f"{compiler} made only {len(made)} objects")
        for file in made:
            world.results.append((str(file.relative_to(world.directory)), file.read_bytes()))


PROGRAMS = {f.__name__: f for f in (python3, bash, php, redis, self_compile)}
REQUIRED = {"python3"}


def compare(name, library, size):
    """Runs the program on both allocators; how many results agree and their bytes. AssertionError when they do not."""
    # The two runs use the same path one after the other: paths are part of what programs print.
    base = tempfile.mkdtemp(prefix="ashlar-")
    directory = os.path.join(base, "d")
    results = []
    try:
        for preload in (None, library):
            os.mkdir(directory)
            world = World(directory, preload)
            started = time.monotonic()
            PROGRAMS[name](world, size)
            print(f"{name}: {'library' if preload else 'system'} run "
                  f"{time.monotonic() - started:.2f} s", flush=True)
            results.append(world.results)
            shutil.rmtree(directory)
    except subprocess.TimeoutExpired as problem:
        raise AssertionError(str(problem)) from None
    finally:
        shutil.rmtree(base, ignore_errors=True)
    if not any(text for _, text in results[0]):
        raise AssertionError("nothing to compare")
    if [what for what, _ in results[0]] != [what for what, _ in results[1]]:
        raise AssertionError("the runs took different steps")
    for (what, one), (_, two) in zip(*results):
        if one != two:
            at = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
            raise AssertionError(f"'{what}' differs at byte {at}\n"
                                 f"  system:  {one[at:at + 100]!r}\n  library: {two[at:at + 100]!r}")
    return len(results[0]), sum(len(text) for _, text in results[0])


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in PROGRAMS:
        sys.exit(f"usage: {sys.argv[0]} {{{','.join(PROGRAMS)}}} LIBRARY [SIZE]")
    name, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    size = int(sys.argv[3]) if len(sys.argv) == 4 else 100
    if not library.is_file() or size < 1:
        sys.exit(f"{name}: there is no library {library}, or the size is no percentage")
    try:
        count, total = compare(name, str(library), size)
    except Skip as reason:
        if name in REQUIRED:
            sys.exit(f"{name}: {reason}, but this test must run")
        print(f"SKIPPED: {reason}; run scripts/setup.sh torture")
        return SKIPPED
    except AssertionError as problem:
        sys.exit(f"{name}: {problem}")
    print(f"{name}: {count} results agree, {total} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
