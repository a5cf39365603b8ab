"""The ashlar command, started with words in a folder that has its streams as files: "in", "out" and "err".

A test is run as NAME_test.py NAME=VALUE... [TEST...]: `command`, and the programs and libraries that it needs.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

from processes import FolderTest, run_together, wait_until

GIVEN = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)


def words_of(line):
    """Split at blanks, but for those in a path that was given: that of a checkout may have some."""
    given = sorted(filter(None, GIVEN.values()), key=len, reverse=True)
    return re.findall(f"(?:{'|'.join(map(re.escape, given))}|\\S)+", line)


class Ended:
    """A command that has ended: its status, below 0 where a signal ended it, and what it said."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def json(self):
        return json.loads(self.out)


class CommandInFolder(FolderTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("tmp"))
        self.write("in", "")
        self.environment = {}

    def start(self, line, *words, stdout=None, before=None):
        """The words of the line and the others, in a process group of its own, which calls `before` first."""
        with contextlib.ExitStack() as streams:
            opened = [streams.enter_context(open(self.path(name), mode)) for name, mode in (("in", "rb"), ("out", "wb"), ("err", "wb"))]
            process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
                [GIVEN["command"], *words_of(line), *map(str, words)], cwd=self.folder, process_group=0, preexec_fn=before,
                env={**os.environ, "TMPDIR": self.path("tmp"), "LC_ALL": "C", **self.environment},
                stdin=opened[0], stdout=stdout or opened[1], stderr=opened[2])
        self.addCleanup(lambda: process.poll() is None and (self.kill(process, signal.SIGKILL), process.wait()))
        return process

    def started(self, text, line, *words):
        """The same, and its program has said this."""
        process = self.start(line, *words)
        self.assertTrue(wait_until(lambda: text in self.read("out")), "the program did not start")
        return process

    @staticmethod
    def kill(process, number):
        """To the whole group, as a terminal does it."""
        os.killpg(process.pid, number)

    def finish(self, process, status=0, out=(), err=()):
        """It has to end with this status, None: any, and to have said these parts."""
        ended = Ended(process.wait(timeout=300), self.read("out"), self.read("err"))
        if status is not None:
            self.assertEqual(ended.status, status, ended.out + ended.err)
        for said, parts in ((ended.out, out), (ended.err, err)):
            self.has(said, *([parts] if isinstance(parts, str) else parts))
        return ended

    def ashlar(self, line, *words, status=0, out=(), err=(), **options):
        return self.finish(self.start(line, *words, **options), status, out, err)

    def says(self, line, *words, status=0):
        """Returns: what it says on both streams."""
        ended = self.ashlar(line, *words, status=status)
        return ended.out + ended.err

    def refused(self, named, line, *words):
        """With status 2 and a message that has `named` in it; no file comes of it."""
        before = self.files()
        self.has(self.says(line, *words, status=2), named)
        self.assertEqual(self.files(), before, named)

    def without_reader(self, line, *words, **options):
        """Its standard output is a pipe that nobody reads any more."""
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return self.ashlar(line, *words, stdout=writer, **options)
        finally:
            os.close(writer)

    def has(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def lacks(self, text, *parts):
        for part in parts:
            self.assertNotIn(part, text)

    def read(self, name):
        """Its bytes, of which those that are no text survive; nothing of a file that is not there."""
        path = pathlib.Path(self.path(name))
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else ""

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_bytes(text.encode("utf-8", "surrogateescape"))

    def json(self, name):
        return json.loads(self.read(name))

    def damage(self, name, bits, to=None):
        """Flips these bits of the byte in the middle of a file."""
        data = bytearray(pathlib.Path(self.path(name)).read_bytes())
        data[len(data) // 2] ^= bits
        pathlib.Path(self.path(to or name)).write_bytes(data)

    def cut(self, name, by):
        os.truncate(self.path(name), os.path.getsize(self.path(name)) - by)

    def files(self):
        """But for what is there of every command."""
        return sorted(set(os.listdir(self.folder)) - {"in", "out", "err", "tmp"})

    def left_nothing_behind(self):
        self.assertEqual(os.listdir(self.path("tmp")), [])


def waiting(number):
    """A signal that is pending, blocked, for a command that looks for it: whenever that is, it has come before."""
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        signal.raise_signal(number)
    return block


def main(jobs=2):
    run_together(jobs, [word for word in sys.argv[1:] if "=" not in word])
