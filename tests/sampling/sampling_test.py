#!/usr/bin/env python3
"""Sampling in the drop-in library: its estimates against the truth, its files, and what goes wrong.

usage: sampling_test.py WHAT PROGRAM LIBRARY [HARDENED_LIBRARY [COMMAND]]

PROGRAM is sampled.cpp. The profiles are read by a reader of this file's own, and by `go tool pprof` where that is there.
"""
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from pprof import Profile, fields  # pylint: disable=wrong-import-position

PROGRAM, LIBRARY, HARDENED, COMMAND = (sys.argv[2:] + [""] * 4)[:4]
KEPT = ("PATH", "HOME", "TMPDIR", "LANG")


class SampledProfile(Profile):
    def __init__(self, path: pathlib.Path):
        super().__init__(path.read_bytes())
        assert self.shown_first == "inuse_space"

    def sites(self, places: dict[str, int], tags: dict[str, set] | None = None) -> dict[str, list[int]]:
        """The values of each function that is in a stack's innermost frame, by the places that the program told. Fills
        `tags` with those of each function."""
        found: dict[str, list[int]] = {name: [0] * 5 for name in places}
        for (stack, values), tag in zip(self.samples, self.tags):
            if not stack:
                continue
            address = self.locations[stack[0]][3]
            mapping = self.mappings[self.locations[stack[0]].get(2, 0)]
            assert mapping[2] <= address < mapping[3]
            name = max((n for n in places if places[n] <= address), key=lambda n: places[n], default=None)
            if name and address - places[name] < 1024:
                found[name] = [a + b for a, b in zip(found[name], values)]
                if tags is not None:
                    tags.setdefault(name, set()).add(tag)
        return found


class Run:
    def __init__(self, arguments, library=None, expected=0, **variables: str):
        environment = {k: os.environ[k] for k in KEPT if k in os.environ}
        environment.update(variables, LD_PRELOAD=library or LIBRARY)
        done = subprocess.run([PROGRAM, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=240,
                              check=False)
        assert done.returncode == expected, f"{arguments} {variables}: ended with {done.returncode}\n{done.stderr[-3000:]}"
        self.said = done.stderr
        lines = [line.split() for line in done.stdout.splitlines()]
        self.places = {w[1]: int(w[2], 16) for w in lines if w[0] == "site"}
        self.children = [int(w[1]) for w in lines if w[0] == "child"]
        self.truths: list[dict[str, list[int]]] = [{}]  # one for each process, in the order of their ends
        for words in (w for w in lines if w[0] == "truth"):
            if words[1] in self.truths[-1]:
                self.truths.append({})
            self.truths[-1][words[1]] = [float(n) for n in words[2:]]  # four sums: value, variance, most of one


def compare(seen: list[tuple[SampledProfile, dict[str, int], dict[str, list[float]]]]) -> None:
    """The sums of all runs' estimates are as near to the truth as chance allows: seven standard deviations, and three
    samples, since few rare ones are not spread evenly."""
    for name in seen[0][2]:
        sites = [(profile.sites(places)[name], truth[name]) for profile, places, truth in seen]
        for i, kind in enumerate(("blocks", "bytes", "live blocks", "live bytes")):
            estimate = sum(values[i] for values, _ in sites)
            exact = sum(truth[3 * i] for _, truth in sites)
            if exact == 0:
                assert estimate == 0, f"{name}: {estimate} {kind}, but there are none"
                continue
            rounding = 10 * len(seen)  # of a site's call stacks
            deviation = math.sqrt(sum(truth[3 * i + 1] for _, truth in sites))
            bound = 7 * deviation + 3 * max(truth[3 * i + 2] for _, truth in sites) + rounding
            assert abs(estimate - exact) <= bound, (
                f"{name}: {estimate} {kind} are estimated, {exact:.0f} are true, and {bound:.0f} may be between")


def unbiased(folder: pathlib.Path) -> None:
    """In each mode of the library; what one run leaves open, three do not."""
    for every, library, variables in (
            ("4096", LIBRARY, {}),
            ("64K", LIBRARY, {}),
            ("1", LIBRARY, {}),
            ("4K", LIBRARY, {"ASHLAR_SAMPLE_GUARD": "3", "ASHLAR_CHECK_GUARD_SLOTS": "4096"}),
            ("16K", LIBRARY, {"ASHLAR_CHECK": "1"}),
            ("16K", LIBRARY, {"ASHLAR_CHECK": "full", "ASHLAR_CHECK_STACK_DEPTH": "0"}),
            ("16K", LIBRARY, {"ASHLAR_HARDEN": "1"}),
            ("16K", LIBRARY, {"MALLOC_PERTURB_": "90"}),
            ("16K", LIBRARY, {"ASHLAR_BACKGROUND": "1", "ASHLAR_PURGE_DELAY_MS": "0"}),
            ("16K", HARDENED, {})):
        number = int(every[:-1]) * 1024 if every.endswith("K") else int(every)
        path = folder / "a.pb"
        for mode, runs in (("mixed", 1), ("resized", 1 if number == 1 else 3)):
            seen = []
            for _ in range(runs):
                path.unlink(missing_ok=True)
                run = Run([mode], library, ASHLAR_SAMPLE=every, ASHLAR_SAMPLE_FILE=str(path), **variables)
                assert run.said == "", run.said
                seen.append((SampledProfile(path), run.places, run.truths[0]))
                assert seen[-1][0].period == number
            try:
                compare(seen)
            except AssertionError as e:
                raise AssertionError(f"{mode}, one of {every} bytes, {library} {variables}: {e}") from None


def fork(folder: pathlib.Path) -> None:
    for pattern, name in (("a.pb", "a.pb.{}"), ("b.%p.pb", "b.{}.pb")):
        run = Run(["fork"], ASHLAR_SAMPLE="2K", ASHLAR_SAMPLE_FILE=str(folder / pattern))
        assert run.said == "", run.said
        child, parent = run.truths
        compare([(SampledProfile(folder / name.format(run.children[0])), run.places, child)])
        mine = [p for p in folder.glob(pattern.replace("%p", "*")) if str(run.children[0]) not in p.name]
        assert len(mine) == 1, mine
        compare([(SampledProfile(mine[0]), run.places, parent)])
        for path in folder.iterdir():
            path.unlink()
    # What a thread allocates and frees while another one forks counts, too.
    for variables in ({}, {"ASHLAR_HARDEN": "1"}):
        run = Run(["forks"], ASHLAR_SAMPLE="4K", ASHLAR_SAMPLE_FILE=str(folder / "a.pb"), **variables)
        compare([(SampledProfile(folder / "a.pb"), run.places, run.truths[0])])


def files(folder: pathlib.Path) -> None:
    """By signal, at an interval, by calls, at the end; and none where none is asked for."""
    path = folder / "by_signal.1"
    run = Run(["signal", path], ASHLAR_SAMPLE="16K", ASHLAR_SAMPLE_SIGNAL="USR2", ASHLAR_SAMPLE_FILE=f"{folder}/by_signal.%n")
    assert run.said == "", run.said
    early, late = (SampledProfile(folder / f"by_signal.{n}").sites(run.places)["by_malloc"][0] for n in (1, 2))
    assert early <= late and late > 0
    Run(["signal", path], expected=-signal.SIGABRT, ASHLAR_SAMPLE="16K", ASHLAR_SAMPLE_FILE=f"{folder}/x")  # it is there
    Run(["fork"], expected=0, ASHLAR_SAMPLE_FILE=str(folder / "off"))
    assert not (folder / "off").exists()
    path = folder / "by_time.1"
    Run(["interval", path], ASHLAR_SAMPLE="16K", ASHLAR_SAMPLE_INTERVAL="1", ASHLAR_SAMPLE_FILE=f"{folder}/by_time.%n")
    SampledProfile(path)
    SampledProfile(folder / "by_time.2")
    path = folder / "by_calls"
    run = Run(["calls", path])
    sites = SampledProfile(path).sites(run.places)
    assert sites["by_thread"][0] > 0 and sites["by_malloc"][0] > 0, sites
    # What was allocated while nothing was sampled is not there.
    assert sites["by_other_malloc"] == [0] * 5, sites
    compare([(SampledProfile(path), {"by_malloc": run.places["by_malloc"], "by_other_malloc": run.places["by_other_malloc"]},
              {"by_malloc": run.truths[0]["by_malloc"]})])
    assert not list(folder.glob("*.part")), "a file is left"


def bad_input(folder: pathlib.Path) -> None:
    path = folder / "none" / "a.pb"
    run = Run(["fork"], ASHLAR_SAMPLE="16K", ASHLAR_SAMPLE_FILE=str(path))
    child = f"{path}.{run.children[0]}"
    assert run.said == "".join(f"ashlar: cannot write {file} (ASHLAR_SAMPLE_FILE): there is no such folder\n"
                               for file in (child, path)), run.said
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    if os.getuid() != 0:
        run = Run(["mixed"], ASHLAR_SAMPLE="16K", ASHLAR_SAMPLE_FILE=str(locked / "a.pb"))
        assert run.said == f"ashlar: cannot write {locked}/a.pb (ASHLAR_SAMPLE_FILE): permission denied\n", run.said
    for name, value in (("ASHLAR_SAMPLE", "lots"), ("ASHLAR_TAG_LIMIT", "parser=1M,64M"), ("ASHLAR_TAG_LIMIT", "x" * 64 + "=1M"),
                        ("ASHLAR_SAMPLE_SIGNAL", "USR9"), ("ASHLAR_SAMPLE_INTERVAL", "soon"),
                        ("ASHLAR_SAMPLE_GUARD", "-1"), ("ASHLAR_SAMPLE_FILE", "x" * 2000)):
        run = Run(["fork"], **{name: value})
        assert len(run.said.splitlines()) == 1 and run.said.startswith(f"ashlar: {name}=") and "expected" in run.said, run.said


def guards(folder: pathlib.Path) -> None:
    """A guarded sample finds a use after free; without guards nothing does."""
    Run(["misuse"], expected=-signal.SIGABRT, ASHLAR_SAMPLE="1K", ASHLAR_SAMPLE_GUARD="10")
    said = subprocess.run([PROGRAM, "misuse"], capture_output=True, text=True, check=False,
                          env={"LD_PRELOAD": LIBRARY, "ASHLAR_SAMPLE": "1K", "ASHLAR_SAMPLE_GUARD": "10"}).stderr
    assert "after it was freed" in said and "allocated by malloc" in said, said
    run = Run(["fork"], ASHLAR_SAMPLE="1K", ASHLAR_SAMPLE_GUARD="2", ASHLAR_SAMPLE_FILE=f"{folder}/a.%p")
    assert run.said == "", run.said


def pprof(folder: pathlib.Path) -> None:
    """pprof itself opens the file, and names the functions. Go's own copy names those of C alone, of C++ it has the lines."""
    tool = [found] if (found := shutil.which("pprof")) else [found, "tool", "pprof"] if (found := shutil.which("go")) else None
    if tool is None:
        print("skipped: neither pprof nor go is there, whose command has it")
        sys.exit(77)
    path = folder / "mixed.pb"
    Run(["mixed"], ASHLAR_SAMPLE="16K", ASHLAR_SAMPLE_FILE=str(path))
    environment = {**os.environ, "HOME": str(folder), "PPROF_TMPDIR": str(folder)}
    if len(tool) == 3:  # newer ones compile pprof when it is first asked for, which takes a minute: once for all tests
        environment["GOCACHE"] = subprocess.run([tool[0], "env", "GOCACHE"], check=True, capture_output=True, text=True).stdout.strip()
    for index in ("alloc_space", "inuse_space", "lifetime"):
        said = subprocess.run([*tool, "-top", f"-sample_index={index}", path], env=environment, capture_output=True, text=True,
                              check=False)
        assert said.returncode == 0 and f"Type: {index}" in said.stdout, said
        shown = {line.split()[-1] for line in said.stdout.splitlines() if line.strip()}
        named = "main" in shown and (len(tool) == 3 or index != "alloc_space" or "sampled::by_large" in shown)
        assert named, said.stdout


def symbols(folder: pathlib.Path) -> None:
    """`ashlar export --symbols` names the calls of a profile, once."""
    path = folder / "mixed.pb"
    run = Run(["tags"], ASHLAR_SAMPLE="2K", ASHLAR_SAMPLE_FILE=str(path))
    before = SampledProfile(path)
    assert not before.functions and set(before.tags) == {None, "first", "second"}
    for said in ("calls have names", "had names before"):
        done = subprocess.run([COMMAND, "export", "--symbols", path], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and said in done.stderr, done
        after = SampledProfile(path)
        assert (after.samples, after.tags, after.types, after.period) == (before.samples, before.tags, before.types, before.period)
        # Of several lines the last is the function's that is called.
        names = {after.functions[dict(fields(location[4]))[1]] for location in after.locations.values() if 4 in location}
        for site in (name for name, made in run.truths[0].items() if made[0] != 0):
            assert f"sampled::{site}" in {name.split("(")[0] for name in names}, (site, names)
    for other in (b"", b"no profile", path.read_bytes()[:-3]):
        (folder / "other").write_bytes(other)
        done = subprocess.run([COMMAND, "export", "--symbols", folder / "other"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done
        assert (folder / "other").read_bytes() == other


def tags(folder: pathlib.Path) -> None:
    """What has which tag: in each thread, in a forked child; the figures of a tag are those of its samples."""
    run = Run(["tags"], ASHLAR_SAMPLE="2K", ASHLAR_SAMPLE_FILE=f"{folder}/%p.pb", ASHLAR_STATS_FILE=f"{folder}/%p.json")
    assert run.said == "", run.said
    wanted = {"by_malloc": "first", "by_thread": "first", "by_calloc": "second", "by_other_malloc": None, "by_new": None,
              "by_large": None}
    child, = run.children
    for path in folder.glob("*.pb"):
        profile, seen = SampledProfile(path), {}
        sites = profile.sites(run.places, seen)
        mine = dict(wanted, in_child="second") if path.stem == str(child) else wanted
        assert {site: {tag} for site, tag in mine.items() if any(sites[site])} == seen, (path, seen)
        told = {tag["tag"]: tag for tag in json.loads(path.with_suffix(".json").read_text())["tags"]}
        assert list(told) == ["first", "second"], told
        for name, figures in told.items():
            live = sum(values[3] for (_, values), tag in zip(profile.samples, profile.tags) if tag == name)
            rounding_and_the_file_itself = len(profile.samples) + 10_000
            assert abs(live - figures["live_bytes"]) <= rounding_and_the_file_itself, (name, live, figures)
            exact = sum(run.truths[-1][site][9] for site in wanted if wanted[site] == name)  # of the parent
            error = figures["live_error_bytes"]
            assert 0 < error < exact / 8, figures
            if path.stem != str(child):
                assert abs(live - exact) <= 6 * error, (figures, exact)
    assert len(list(folder.glob("*.pb"))) == 2


def tag_errors(folder: pathlib.Path) -> None:
    """No test: how far the estimates of tags are from the truth, in 200 runs for each distance of samples."""
    for every in ("1K", "4K", "16K"):
        off, told = [], []
        for _ in range(200):
            run = Run(["tags"], ASHLAR_SAMPLE=every, ASHLAR_STATS_FILE=f"{folder}/%p.json")
            for path in folder.glob("*.json"):
                if path.stem != str(run.children[0]):
                    for tag in json.loads(path.read_text())["tags"]:
                        sites = ("by_malloc", "by_thread") if tag["tag"] == "first" else ("by_calloc",)
                        exact = sum(run.truths[-1][site][9] for site in sites)
                        off.append((tag["live_bytes"] - exact) / exact)
                        told.append(tag["live_error_bytes"] / exact)
                path.unlink()
        deviation, mean = math.sqrt(sum(each * each for each in off) / len(off)), sum(off) / len(off)
        within = sum(abs(each) <= 2 * error for each, error in zip(off, told)) / len(off)
        print(f"{every}: {len(off)} estimates, off by {100 * deviation:.1f} % (root mean square; mean {100 * mean:+.2f} %), error as "
              f"told {100 * sum(told) / len(told):.1f} %, {100 * within:.1f} % within two of it")


def tagged(folder: pathlib.Path) -> None:
    """The C functions: scopes in scopes, what goes wrong, and programs in which nothing looks at tags."""
    x = 63 * "x"
    turn = "ashlar: a scope of the tag \"{}\" did not end in its turn: end each scope once, the innermost first, in the thread " \
        "that began it (ashlar/adapt/tags.h)\n"
    many = {**{f"tag {n}": 1000 for n in range(256)}, "(other)": 44_000}
    for mode, wanted, said in (
            ("nested", {"outer": 100_000, "inner": 147_000, "freed": 0}, ""),
            ("many", many, 'ashlar: there are more than 256 tags: "tag 256" and all later ones count as "(other)"\n'),
            ("odd", {x: 3000, 'a"b\\c?d??': 1000},
             f'ashlar: a tag has at most 63 characters: the rest is left out behind "{x}"\n'),
            ("turns", {"a": None}, turn.format("b")),
            ("left", {"last": 1000}, turn.format("left")),
            ("limit", {"parser": 100_000}, 'ashlar: the tag "parser" holds 101000 bytes, give or take 0, which is above its limit of '
             "100000 (ASHLAR_TAG_LIMIT)\n"),
            ("signals", {"outer": None, "inner": 0}, "")):
        for program in ("sampling_tagged", "sampling_tagged_not_pie"):
            for library in (LIBRARY, None):
                path = folder / "stats.json"
                path.unlink(missing_ok=True)
                variables = {"LD_PRELOAD": library, "ASHLAR_SAMPLE": "1", "ASHLAR_STATS_FILE": str(path)} if library else {}
                if mode == "limit" and library:
                    variables["ASHLAR_TAG_LIMIT"] = "parser=100000"
                done = subprocess.run([pathlib.Path(PROGRAM).with_name(program), mode], env=variables, capture_output=True,
                                      text=True, timeout=60, check=False)
                told = f"tags are {'there' if library else 'not there'}\n"
                assert (done.returncode, done.stdout, done.stderr) == (0, told, said if library else ""), (mode, program, done)
                if library:
                    found = {tag["tag"]: tag["live_bytes"] for tag in json.loads(path.read_text())["tags"]
                             if wanted[tag["tag"]] is not None}
                    assert found == {name: live for name, live in wanted.items() if live is not None}, (mode, found)


def probes(folder: pathlib.Path) -> None:
    """Tracers find the probes in the library's notes, and a debugger that stops there sees what the samples have."""
    readelf, gdb = shutil.which("readelf"), shutil.which("gdb")
    if readelf is None:
        print("skipped: no readelf")
        sys.exit(77)
    for library in (LIBRARY, HARDENED) if HARDENED else (LIBRARY,):
        notes = subprocess.run([readelf, "-n", library], capture_output=True, text=True, check=True).stdout
        found = set(re.findall(r"Provider: otel_memory\s+Name: (\w+)\s+Location: 0x[0-9a-f]+, Base: 0x[0-9a-f]+, Semaphore: 0x0+\s+"
                               r"Arguments: (.+)", notes))
        assert {(name, len(words.split())) for name, words in found} == {("alloc", 3), ("free", 1)}, notes
    if gdb is None:
        return
    # The blocks of the innermost scope alone: 50 of them, of which one is resized and freed.
    script = folder / "script"
    script.write_text(f"""set breakpoint pending on
set environment LD_PRELOAD {LIBRARY}
set environment ASHLAR_SAMPLE 1
set startup-with-shell off
break -probe-stap otel_memory:alloc
commands
silent
printf "alloc %lx %lu %lu\\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap otel_memory:free
commands
silent
printf "free %lx\\n", $_probe_arg0
continue
end
run nested
""")
    program = pathlib.Path(PROGRAM).with_name("sampling_tagged")
    done = subprocess.run([gdb, "-batch", "-nx", "-x", script, program], capture_output=True, text=True, timeout=200, check=False,
                          env={name: os.environ[name] for name in KEPT if name in os.environ})
    live: dict[str, tuple[str, str]] = {}
    freed = []
    for line in re.findall(r"^(alloc|free) (\w+)(?: (\d+) (\d+))?$", done.stdout, re.M):
        if line[0] == "alloc":
            assert line[1] not in live and line[2] == line[3], (line, done)
            live[line[1]] = line[2]
        else:
            freed.append(live.pop(line[1]))
    if not live and "ptrace" in done.stdout + done.stderr:
        print("skipped: no debugger may stop a process here")
        sys.exit(77)
    sizes = list(live.values())
    assert (sizes.count("1000"), sizes.count("3000"), sizes.count("5000")) == (100, 49, 30), done
    assert [size for size in freed if size in ("3000", "7000", "4000")] == ["3000", "7000", "4000"], freed


if __name__ == "__main__":
    parts = {f.__name__: f for f in (unbiased, fork, files, bad_input, guards, pprof, symbols, tags, tag_errors, tagged, probes)}
    with tempfile.TemporaryDirectory() as name:
        parts[sys.argv[1]](pathlib.Path(name))
