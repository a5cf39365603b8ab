#!/usr/bin/env python3
"""Runs a program on the C library and on the drop-in library, and compares what both say.

interface_test.py rules PROGRAM LIBRARY    interface_rules.c: the same lines
interface_test.py fuzz PROGRAM LIBRARY     the same lines for random calls
interface_test.py shape PROGRAM LIBRARY    interface_figures.c: malloc_info and malloc_stats have
                                           glibc's names, and figures that agree with mallinfo2
"""
import difflib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def run(program, library, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    if library:
        environment["LD_PRELOAD"] = library
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        where = library or "the C library"
        sys.exit(f"{program} {arguments} on {where}: {done.returncode}\n{done.stderr}")
    return done.stdout, done.stderr


def compare(program, library, *arguments):
    expected, _ = run(program, None, *arguments)
    got, _ = run(program, library, *arguments)
    if expected != got:
        lines = difflib.unified_diff(expected.splitlines(), got.splitlines(), "the C library",
                                     library, lineterm="", n=0)
        sys.exit("\n".join([f"{arguments} differs:", *list(lines)[:40]]))
    return len(got.splitlines())


def names(element, path=""):
    """Yields the path of each element with its attributes' names, and the value of `type`."""
    path += "/" + element.tag
    yield path, tuple(sorted(element.attrib)), element.get("type")
    for child in element:
        yield from names(child, path)


class State:
    """What `interface_figures print` said of one moment."""

    def __init__(self, output, errors):
        text, _, line = output.partition("mallinfo2 ")
        self.xml = ElementTree.fromstring(text)
        self.info = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
        self.stats = [(key.strip(), value) for key, value in
                      re.findall(r"^([^=:\n]+)[:=] *(\d*)$", errors, re.MULTILINE)]
        assert len(self.stats) == len(errors.splitlines()), errors

    def of_all(self, tag, kind, attribute):
        return int(self.xml.find(f"{tag}[@type='{kind}']").get(attribute))


def require_agreement(state, rest_error):
    """The relations that glibc's own figures have."""
    info = state.info
    assert state.of_all("system", "current", "size") == info["arena"]
    assert state.of_all("system", "max", "size") >= info["arena"]
    assert state.of_all("total", "mmap", "count") == info["hblks"] >= 3
    assert state.of_all("total", "mmap", "size") == info["hblkhd"]
    assert state.of_all("total", "fast", "count") == info["smblks"]
    assert state.of_all("total", "fast", "size") == info["fsmblks"]
    assert state.of_all("total", "rest", "count") == info["ordblks"]
    rest = info["fordblks"] - info["fsmblks"]
    assert rest <= state.of_all("total", "rest", "size") <= rest + rest_error
    rows = state.xml.findall("heap/sizes/size")
    assert rows and sum(int(row.get("total")) for row in rows) <= info["fordblks"] + rest_error
    for row in rows:
        size, largest, total, count = (int(row.get(n)) for n in ("from", "to", "total", "count"))
        assert size * count <= total <= largest * count, row.attrib
    values = [int(value) for _, value in state.stats if value]
    system = info["arena"] + info["hblkhd"]
    in_use = info["uordblks"] + info["hblkhd"]
    assert values[:4] == [info["arena"], info["uordblks"], system, in_use], (values, info)
    assert values[4] >= info["hblks"] and values[5] >= info["hblkhd"]


def shape(program, library):
    glibc = State(*run(program, None, "print"))
    ours = State(*run(program, library, "print"))
    require_agreement(glibc, rest_error=glibc.info["ordblks"])  # it adds each chunk's flag, a 1
    require_agreement(ours, rest_error=0)
    assert [key for key, _ in glibc.stats] == [key for key, _ in ours.stats]
    # Of glibc's names one is not there: chunks that it has not sorted yet.
    theirs = {name for name in names(glibc.xml) if not name[0].endswith("/unsorted")}
    assert theirs == set(names(ours.xml)), theirs ^ set(names(ours.xml))
    half = [row for row in ours.xml.findall("heap/sizes/size") if int(row.get("count")) >= 500]
    assert half, "500 blocks of 3,000 bytes are free, and in no row"


def main():
    what, program, library = sys.argv[1:]
    if what == "rules":
        print(compare(program, library, "rules"), "lines, the same")
    elif what == "fuzz":
        print(sum(compare(program, library, "fuzz", str(seed), "10000") for seed in range(1, 5)),
              "lines, the same")
    else:
        shape(program, library)


main()
