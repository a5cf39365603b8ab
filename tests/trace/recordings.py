"""What the tests of recordings share: the events of a trace, as `ashlar export --format=text` tells them (docs/trace-format.md)."""
import os
import re
import resource

from command_in_folder import CommandInFolder  # pylint: disable=import-error

BIRTHS = ("malloc", "calloc", "realloc", "aligned", "new", "new[]", "pool")
DEATHS = ("free", "realloc-from", "delete", "delete[]", "pool-free")


class Event:
    """`size` is a birth's, or the number of an event that is of no block; the alignment of most is 0."""

    def __init__(self, time, thread, kind, *more):
        self.time, self.thread, self.kind = int(time), int(thread), kind
        self.is_birth, self.is_death = kind in BIRTHS, kind in DEATHS
        self.address = int(more[0], 16) if self.is_birth or self.is_death or kind == "untouched" else 0
        numbers = more[1:] if self.address else more
        self.size = int(numbers[0]) if numbers else 0
        fields = dict(word.split("=") for word in numbers[1:] if self.is_birth)
        self.alignment, self.stack = int(fields.get("align", 0)), int(fields.get("stack", 0))
        self.text = re.sub(r"\\(..)", lambda byte: chr(int(byte[1], 16)), " ".join(numbers[1:]))


class Recordings(CommandInFolder):
    def text_of(self, trace, is_whole=True, status=0):
        ended = self.ashlar("export --format=text", trace, status=status)
        if is_whole:
            self.assertEqual(ended.err, "")
        return ended.out

    def events(self, trace="run.atrace", **options):
        return [Event(*line.split(" ")) for line in self.text_of(trace, **options).splitlines() if line[:1].isdigit()]

    def bytes_of(self, name):
        """0 where there is none: the recorder makes its file, removes it and makes it again at the begin."""
        try:
            return os.path.getsize(self.path(name))
        except OSError:
            return 0


def limit_of_files(process, size=100_000):
    """The disk is full from now on."""
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
