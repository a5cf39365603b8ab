"""Whether the machine was quiet: a fixed piece of work is timed before each case, and the kernel's stolen time is read.

A probe that takes longer than the others says that something else had the processor, or that it ran slower.
"""

import hashlib
import statistics
import time
from pathlib import Path

WORK = bytes(1 << 20)  # some milliseconds of hashing
NOISY = 1.15  # a probe above this multiple of the fastest tenth is noisy
LONGEST_GAP_S = 120  # noisy probes nearer than this to each other are one phase
MOST_PHASES = 5  # named; the others are counted


def stolen_and_all(text):
    """(ticks that other virtual machines took, all ticks) of /proc/stat's first line; (0, 0) where it has none."""
    words = text.split("\n", 1)[0].split()
    ticks = [int(word) for word in words[1:9]] if words[:1] == ["cpu"] else []
    return (ticks[7], sum(ticks)) if len(ticks) == 8 else (0, 0)


def read_stat():
    try:
        return stolen_and_all(Path("/proc/stat").read_text(encoding="ascii"))
    except OSError:
        return 0, 0


class Watch:
    """Probes when asked, and tells at the end how quiet it was."""

    def __init__(self):
        self.probes = []  # (seconds since the epoch, seconds that the work took)
        self.stolen, self.all = read_stat()

    def probe(self):
        started = time.perf_counter()
        hashlib.sha256(WORK).digest()
        self.probes.append((time.time(), time.perf_counter() - started))

    def text(self):
        stolen, everything = read_stat()
        share = (stolen - self.stolen) / (everything - self.all) if everything > self.all else 0
        return describe(self.probes) + f"; {share:.1%} of the processors' time was stolen"


def phases(moments):
    """[(first, last)] of moments that lie near each other."""
    found = []
    for moment in moments:
        if found and moment - found[-1][1] <= LONGEST_GAP_S:
            found[-1] = (found[-1][0], moment)
        else:
            found.append((moment, moment))
    return found


def clock(moment):
    return time.strftime("%H:%M", time.localtime(moment))


def describe(probes):
    """In words: the share of quiet probes, and when the longest noisy phases were."""
    if len(probes) < 2:
        return "not probed"
    fast = statistics.quantiles([took for _, took in probes], n=10, method="inclusive")[0]
    noisy = [moment for moment, took in probes if took > NOISY * fast]
    text = f"quiet in {1 - len(noisy) / len(probes):.0%} of {len(probes)} probes"
    longest = sorted(phases(noisy), key=lambda phase: phase[0] - phase[1])
    named = sorted(phase for phase in longest[:MOST_PHASES] if phase[1] > phase[0])
    if named:
        text += ", noisy longest from " + ", ".join(f"{clock(first)} to {clock(last)}" for first, last in named)
    return text
