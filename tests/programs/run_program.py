#!/usr/bin/env python3
"""Runs an unmodified program twice, on the system's allocator and on the library, and compares what
comes out byte for byte: standard output, exit code and the files that matter.

usage: run_program.py NAME LIBRARY [FILE]

NAME is one of the functions below; FILE is what some of them need (our own program).
Exit code 77: the program is not installed. Everything happens in a temporary directory.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
TIMEOUT = 150  # seconds for one run of one program


class Skip(Exception):
    pass


class World:
    """One of the two runs: its directory and its environment."""

    def __init__(self, directory, library, timeout=TIMEOUT):
        self.directory = directory
        self.library = library
        self.timeout = timeout
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
                              timeout=self.timeout, check=False)
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

    def keep_file(self, name):
        with open(self.path(name), "rb") as file:
            self.results.append((name, file.read()))


def program(name):
    found = shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


# ---- python3 ----

PYTHON_OBJECTS = r"""
import gc, json, re, hashlib, random, collections
random.seed(7)
class Node:
    def __init__(self, n): self.n = n; self.other = None; self.load = [n] * (n % 50)
total = 0
for round in range(3):
    nodes = [Node(i) for i in range(12000)]
    for node in nodes: node.other = random.choice(nodes)   # cycles: only the collector frees them
    total += sum(node.other.n for node in nodes)
    del nodes
    if round % 2 == 0: gc.collect()
document = {str(i): {"list": list(range(i % 40)), "text": "x" * (i % 300)} for i in range(4000)}
text = json.dumps(document, sort_keys=True)
for _ in range(3): assert json.dumps(json.loads(text), sort_keys=True) == text
words = collections.Counter(re.findall(r"[a-z]+|\d\d", text))
big = b"".join(bytes([i % 256]) * (i * 31 % 5000) for i in range(5000))
print(total, len(text), hashlib.sha256(text.encode()).hexdigest(), sorted(words.items())[:20])
print(hashlib.sha256(big).hexdigest(), 3 ** 20000 % (10 ** 40))
"""

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


def python3(world):
    # Without its own small-object pools, so that every object comes from malloc; and with them.
    for name, text in (("objects", PYTHON_OBJECTS), ("threads", PYTHON_THREADS),
                       ("processes", PYTHON_PROCESSES)):
        world.write(name + ".py", text)
        for allocator in ("malloc", "pymalloc"):
            world.run([sys.executable, "-I", name + ".py"] if allocator == "pymalloc" else
                      [sys.executable, name + ".py"],
                      extra={"PYTHONHASHSEED": "0", "PYTHONMALLOC": allocator})


# ---- databases ----

def sqlite3(world):
    statements = [
        "PRAGMA page_size=4096; PRAGMA cache_size=4000;",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, weight REAL, data BLOB);",
        "CREATE INDEX by_name ON t(name);",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<60000)"
        " INSERT INTO t SELECT i, 'name ' || (i*7919 % 60000), i*0.5, zeroblob(i % 200) FROM n;",
        "CREATE TABLE words(word TEXT, n INT);",
        "INSERT INTO words SELECT substr(name, 1, 7), count(*) FROM t GROUP BY 1;",
        "UPDATE t SET name = upper(name) || id WHERE id % 3 = 0;",
        "DELETE FROM t WHERE id % 5 = 0;",
        "SELECT count(*), sum(weight), sum(length(data)), min(name), max(name) FROM t;",
        "SELECT a.id, b.name FROM t a JOIN t b ON b.id = a.id + 1 ORDER BY b.name LIMIT 200;",
        "SELECT word, n FROM words ORDER BY n DESC, word LIMIT 50;",
        "SELECT group_concat(name, ',') FROM (SELECT name FROM t ORDER BY id LIMIT 3000);",
        "SELECT json_group_array(id) FROM (SELECT id FROM t WHERE id < 4000 ORDER BY id);",
        "VACUUM;",
        "PRAGMA integrity_check;",
    ]
    script = "\n".join(statements).encode()
    world.run([program("sqlite3"), ":memory:"], stdin=script)
    world.run([program("sqlite3"), "file.db"], stdin=script)
    world.run([program("sqlite3"), "file.db", ".dump"])


def redis(world):
    server, client, benchmark = (program(n) for n in
                                 ("redis-server", "redis-cli", "redis-benchmark"))
    # A socket's path must be short: not below the build directory.
    socket = world.path("s")
    process = subprocess.Popen(
        [server, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
         "--daemonize", "no", "--dir", world.directory, "--hash-max-listpack-entries", "8"],
        env=world.environment(), cwd=world.directory,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for _ in range(200):
            if os.path.exists(socket) or process.poll() is not None:
                break
            time.sleep(0.05)
        if process.poll() is not None:
            raise AssertionError("redis-server ended at its start:\n"
                                 + process.stdout.read().decode(errors="replace")[-2000:])
        commands = []
        for i in range(4000):
            commands.append(f"SET key:{i} {'v' * (i * 37 % 900)}")
            commands.append(f"HSET hash:{i % 50} field{i} value{i}")
            commands.append(f"ZADD sorted {i * 7919 % 10007} member{i}")
            commands.append(f"RPUSH list:{i % 20} element{i}")
            commands.append(f"APPEND grown:{i % 30} {'g' * (i % 200)}")
            if i % 3 == 0:
                commands.append(f"DEL key:{i // 2}")
        commands += ["DBSIZE", "ZRANGE sorted 0 100 WITHSCORES", "LRANGE list:3 0 -1",
                     "HLEN hash:7", "STRLEN grown:11", "GET key:3999", "GET grown:5"]
        talk = [client, "-s", socket]
        world.run(talk, stdin="\n".join(commands).encode())
        world.run([benchmark, "-s", socket, "-q", "-n", "6000", "-c", "20", "-d", "300", "-r",
                   "5000", "-t", "set,get,lpush,lpop,sadd,hset,zadd,mset"])
        world.results.pop()  # times
        world.run(talk + ["DEBUG", "RELOAD", "NOSAVE"])
        world.results.pop()  # whether it is allowed depends on the version
        world.run(talk + ["FLUSHALL"])
        world.run(talk + ["DBSIZE"])
        world.run(talk + ["SHUTDOWN", "NOSAVE"])
        code = process.wait(timeout=30)
        if code != 0:
            raise AssertionError(f"redis-server ended with {code}:\n"
                                 + process.stdout.read().decode(errors="replace")[-2000:])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


# ---- tools ----

def git(world):
    command = program("git")
    identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.invalid",
                "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.invalid",
                "GIT_CONFIG_NOSYSTEM": "1", "HOME": world.directory,
                "GIT_CONFIG_GLOBAL": "/dev/null"}
    os.mkdir(world.path("repository"))

    def call(*arguments, at=0):
        date = f"{1700000000 + at * 60} +0000"
        return world.run([command, "-C", "repository", *arguments],
                         extra={**identity, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})

    call("init", "-q", "-b", "main")
    for commit in range(12):
        for i in range(40):
            with open(world.path(f"repository/file{i}.txt"), "a", encoding="utf-8") as file:
                file.write("".join(f"line {commit} {n * i}\n" for n in range(commit * i % 60 + 5)))
        call("add", "-A", at=commit)
        call("commit", "-q", "-m", f"commit {commit}", at=commit)
    call("checkout", "-q", "-b", "side", "HEAD~5")
    with open(world.path("repository/side.txt"), "w", encoding="utf-8") as file:
        file.write("side\n" * 5000)
    call("add", "-A", at=50)
    call("commit", "-q", "-m", "side", at=50)
    call("checkout", "-q", "main")
    call("merge", "-q", "--no-edit", "side", at=60)
    call("-c", "pack.threads=2", "gc", "-q")
    call("log", "--stat", "-p", "--graph", "--all")
    call("blame", "file7.txt")
    call("grep", "-c", "line 3")
    call("diff", "HEAD~4", "--word-diff")
    call("rev-parse", "HEAD", "HEAD^{tree}")
    call("fsck", "--full", "--strict")


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


def bash(world):
    world.write("script.sh", BASH)
    world.run([program("bash"), "--norc", "script.sh"])


def containers(world):
    for _ in range(2):
        world.run([EXTRA])


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


def php(world):
    """Opens its modules with RTLD_DEEPBIND: their blocks are freed by the program, and the other way round."""
    world.run([program("php"), "-r", PHP_OBJECTS])
    # Without its own lists of free blocks: every block is one of malloc's.
    world.run([program("php"), "-r", PHP_OBJECTS], extra={"USE_ZEND_ALLOC": "0"})


PROGRAMS = {f.__name__: f for f in
            (python3, sqlite3, redis, git, bash, containers, php)}
REQUIRED = {"python3", "sqlite3", "containers"}
EXTRA = None


def compare(name, scenario, library, timeout=TIMEOUT):
    """Runs the scenario on both allocators; how many results agree and their bytes. AssertionError when they do not."""
    # The two runs use the same path one after the other: paths are part of what programs print.
    base = tempfile.mkdtemp(prefix="ashlar-")
    directory = os.path.join(base, "d")
    results = []
    try:
        for preload in (None, library):
            os.mkdir(directory)
            world = World(directory, preload, timeout)
            started = time.monotonic()
            scenario(world)
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
    global EXTRA
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in PROGRAMS:
        sys.exit(f"usage: {sys.argv[0]} {{{','.join(PROGRAMS)}}} LIBRARY [FILE]")
    name, library = sys.argv[1], sys.argv[2]
    EXTRA = sys.argv[3] if len(sys.argv) == 4 else None
    try:
        count, size = compare(name, PROGRAMS[name], library)
        print(f"{name}: {count} results agree, {size} bytes")
    except Skip as reason:
        if name in REQUIRED:
            sys.exit(f"{name}: {reason}, but this test must run")
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    except AssertionError as problem:
        sys.exit(f"{name}: {problem}")


if __name__ == "__main__":
    main()
