"""What is run: the cases of alloc_bench and the real programs, both with tags."""

import fnmatch
import importlib
import subprocess
import sys
from dataclasses import dataclass, field

from .allocators import ROOT, UserError, clean_environment

PROGRAM_TAG = "program"


@dataclass(frozen=True)
class Case:
    name: str
    tags: frozenset = frozenset()
    program: object = field(default=None, compare=False)  # a real_programs.Program, or None: alloc_bench runs it

    @property
    def source(self):
        return "program" if self.program else "workload"


def parse_list(text):
    """The cases of `alloc_bench --list`: words, a tab, comma-separated tags."""
    listed = []
    for line in text.splitlines():
        name, _, tags = line.partition("\t")
        if name.strip():
            listed.append(Case(name.strip(), frozenset(tag for tag in tags.strip().split(",") if tag)))
    return listed


def workloads(bench):
    done = subprocess.run([bench, "--list"], env=clean_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{bench} --list ended with {done.returncode}: {done.stderr.strip()}")
    return parse_list(done.stdout)


def programs():
    """The real programs, installed or not."""
    folder = ROOT / "bench/programs"
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    found = importlib.import_module("real_programs").programs()
    return [Case(each.name, frozenset({PROGRAM_TAG, "quick"}), each) for each in found]


def matches(case, patterns):
    return any(fnmatch.fnmatchcase(case.name, p) or fnmatch.fnmatchcase(case.name.split()[0], p) for p in patterns)


def choose(cases, only, tags):
    """Those that match a pattern (all without one) and have one of the tags (any without one)."""
    known = sorted(set().union(*(case.tags for case in cases)))
    unknown = [tag for tag in tags if tag not in known]
    if unknown:
        raise UserError(f"no case has the tag {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [c for c in cases if (not only or matches(c, only)) and (not tags or c.tags & set(tags))]
    if not chosen:
        raise UserError(f"no case matches {' or '.join(only)}; bench/run_bench.py --list shows them")
    return chosen
