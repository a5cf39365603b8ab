"""What the Python tests of the command share: waits, programs that do what the lines on their standard input say, and tests
that run beside each other."""
import concurrent.futures
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import unittest

NOBODY = 65534


def wait_until(condition, seconds=20):
    """Whether it became true in time."""
    until = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < until:
        time.sleep(0.01)
    return bool(holds)


def read(path):
    """The text of a file; nothing of one that is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def write(path, text):
    """Returns: the path."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def without_none(environment):
    """This process's environment with the changes; None takes a variable out."""
    return {name: value for name, value in {**os.environ, **environment}.items() if value is not None}


class Talking(subprocess.Popen):
    """A program that says a line when it is ready, and then one for each line that it is told."""

    def __init__(self, words, environment=None, **options):
        super().__init__([str(word) for word in words], env=without_none(environment or {}), text=True,
                         **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def tell(self, line):
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def ask(self, line):
        self.tell(line)
        return self.stdout.readline().strip()

    def end(self):
        """Returns: its status and what it has said since, on both streams."""
        if self.stdin and self.stdin.closed:
            self.stdin = None
        said, errors = self.communicate(timeout=60)
        return self.returncode, said, errors

    def close(self):
        """Whatever it does, it is gone."""
        if self.poll() is None:
            self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            try:
                if stream:
                    stream.close()
            except OSError:  # of what nobody has read
                pass


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ashlar", dir="/tmp")  # the path of a socket is short
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)


class CommandTest(FolderTest):
    """Its processes have their sockets in the folder, too. What it starts ends with it."""
    command = ""  # ashlar's path

    def start(self, words, environment=None, **options):
        made = Talking(words, {"XDG_RUNTIME_DIR": self.folder, **(environment or {})}, **options)
        self.addCleanup(made.close)
        return made

    def ashlar(self, *words, environment=None, **options):
        return subprocess.run([self.command, *map(str, words)], check=False,
                              env=without_none({"XDG_RUNTIME_DIR": self.folder, **(environment or {})}),
                              **{"capture_output": True, "text": True, "timeout": 120, **options})

    def done(self, *words, **options):
        """Returns: what the command prints, which has nothing to complain of."""
        result = self.ashlar(*words, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def refused(self, status, pattern, *words, **options):
        """It ends with this status and one line, behind which comes a hint where the command line is wrong."""
        result = self.ashlar(*words, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2 if status == 2 and "hint" not in pattern else 1, result.stderr)
        self.assertRegex(lines[0], "^ashlar: .*" + pattern)


def run_test(number):
    """Returns: its name, what is to be told of it, whether it passed, and its seconds."""
    said, begin = io.StringIO(), time.monotonic()
    result = unittest.TextTestRunner(said, verbosity=2).run(run_test.tests[number])
    return run_test.tests[number].id(), said.getvalue(), result.wasSuccessful(), time.monotonic() - begin


def all_tests(suite):
    return [test for each in suite for test in (all_tests(each) if isinstance(each, unittest.TestSuite) else [each])]


def run_together(jobs, names, alone="-"):
    """The tests of the main program, each in a process of its own, so many at once: most of their time they wait. Where
    `names` has some, those whose name has one of them. One whose name has `alone` runs before the others. Ends the program."""
    run_test.tests = [test for test in all_tests(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
                      if not names or any(name in test.id() for name in names)]
    passed, numbers = bool(run_test.tests), range(len(run_test.tests))
    first = [number for number in numbers if alone in run_test.tests[number].id()]
    for some, at_once in ((first, 1), ([number for number in numbers if number not in first], jobs)):
        with concurrent.futures.ProcessPoolExecutor(at_once, multiprocessing.get_context("fork")) as pool:
            for name, said, is_right, seconds in pool.map(run_test, some):
                passed &= is_right
                print(f"{seconds:5.1f} s {name.removeprefix('__main__.')}" if is_right and "skipped" not in said else said, flush=True)
    sys.exit(not passed)
