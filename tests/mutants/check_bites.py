#!/usr/bin/env python3
"""run.py must notice what would make it say nothing: planted here, in a small tree, without building anything."""

import pathlib
import sys
import tempfile

import run

MUTANT = {"name": "m", "plants": "p", "file": "a.hpp", "before": "x < 1", "after": "x <= 1", "tests": ["t"]}


def expect(what, holds):
    if not holds:
        sys.exit(f"check_bites: {what}")


def check_of(text, **changes):
    """Returns what `check` says of a mutant in a file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.hpp").write_text(text)
        return run.check([{**MUTANT, **changes}], root)


def refused(catalogue):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mutants.toml"
        path.write_text(catalogue)
        try:
            run.load(path)
        except run.CannotRun as fault:
            return str(fault)
        return ""


class FakeTests:
    """Tests that are built and run in no time."""

    def __init__(self, complaint=None, failing=(), error=None):
        self.complaint, self.failing, self.error, self.seen = complaint, failing, error, []

    def make(self, _names):
        return self.complaint

    def fails(self, name):
        if self.error:
            raise self.error
        self.seen.append(name)
        return name if name in self.failing else None


def tried(with_tests, **changes):
    """Returns what try_mutant says, and demands that the file is as before, whatever came between."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        (source / "a.hpp").write_text("if (x < 1)")
        try:
            return run.try_mutant({**MUTANT, **changes}, source, with_tests)
        except KeyboardInterrupt:
            return None
        finally:
            expect("the copy keeps a bug", (source / "a.hpp").read_text() == "if (x < 1)")


expect("a sound mutant is refused", check_of("if (x < 1) y;") == [])
for text, what in (("if (x < 2)", "is gone"), ("x < 1 and x < 1", "occurs twice")):
    said = check_of(text)
    expect(f"nothing is said of a text that {what}", len(said) == 1 and "'m'" in said[0] and "a.hpp" in said[0])
expect("nothing is said of a missing file", "b.hpp" in "".join(check_of("x < 1", file="b.hpp")))

entry = '[m]\nplants = "p"\nfile = "f"\nbefore = "b"\nafter = "a"\ntests = ["t"]\n'
expect("a sound catalogue is refused", refused(entry) == "")
expect("a name may be given twice", "'m'" in refused(entry + entry))
expect("a mutant without tests is taken", "tests" in refused(entry.replace('["t"]', "[]")))
expect("a mutant that changes nothing is taken", "changes nothing" in refused(entry.replace('"a"', '"b"')))

expect("a failing test is no catch", tried(FakeTests(failing=("t",))) == (True, "t"))
expect("a mutant that all tests pass is caught", tried(FakeTests())[0] is False)
expect("what does not compile is caught", tried(FakeTests(complaint="f: error: no"))[0] is False)
several = FakeTests(failing=("u",))
expect("only the first test counts", tried(several, tests=["t", "u", "v"]) == (True, "u"))
expect("tests run on after a catch", several.seen == ["t", "u"])
expect("an interruption is swallowed", tried(FakeTests(error=KeyboardInterrupt())) is None)

code, output = run.run(["sh", "-c", "sleep 60 & echo begun; wait"], 0.3)
expect("a hang is not ended, or its output is lost", code is None and "begun" in output)
print("run.py notices what it has to notice")
