#!/usr/bin/env python3
"""Fuzzes every harness of tests/fuzz under AddressSanitizer and UBSan (preset fuzz); non-zero when one finds something.

  tests/fuzz/run_fuzzers.py [--seconds N] [--jobs J] [--merge] [NAME...]

What grows is kept in build/fuzz/corpus/NAME for the next run; an input that fails, in build/fuzz/findings. --merge puts
into the kept corpus (tests/fuzz/corpus.tar.xz, a folder each) what reaches code, or reaches it more often, that nothing there does.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/fuzz"
BINARIES = BUILD / "tests/fuzz"
ARCHIVE = ROOT / "tests/fuzz/corpus.tar.xz"
WORDS = ROOT / "tests/fuzz/words.dict"
KEPT = BUILD / "kept"  # what the archive holds
GROWN = BUILD / "corpus"
FINDINGS = BUILD / "findings"
with tarfile.open(ARCHIVE) as _archive:
    HARNESSES = sorted({name.split("/")[0] for name in _archive.getnames()})
# What a run may take beyond its seconds: the kept corpus comes first, and the input that runs at the end is finished.
GRACE_SECONDS = 300
ROW = "{:<16} {:>11} {:>9} {:>6} {:>6} {:>6}  {}"


def shown(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


def build(jobs: int) -> None:
    log = BUILD / "build.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        for command in (["cmake", "--preset", "fuzz"],
                        ["cmake", "--build", "--preset", "fuzz", "--target", "fuzzers", "-j", str(jobs)]):
            if subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
                sys.stderr.write(log.read_text()[-4000:])
                sys.exit(f"run_fuzzers: the build failed (whole log: {shown(log)})")


def environment() -> dict[str, str]:
    symbolizer = shutil.which("llvm-symbolizer-19")
    return {**os.environ, **({"ASAN_SYMBOLIZER_PATH": symbolizer} if symbolizer else {})}


def run_logged(command: list[str], log: pathlib.Path, seconds: float) -> bool:
    """Whether the command ended by itself, with 0."""
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment())
        try:
            return process.wait(timeout=seconds) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            out.write(f"\nrun_fuzzers: it did not end within {seconds:.0f} seconds and was killed\n")
            return False


def last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return found[-1] if found else "-"


def unpack() -> None:
    shutil.rmtree(KEPT, ignore_errors=True)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(KEPT)


def pack() -> None:
    """The same inputs give the same archive."""
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for path in sorted(KEPT.glob("*/*")):
            entry = tarfile.TarInfo(str(path.relative_to(KEPT)))
            entry.size = path.stat().st_size
            with path.open("rb") as content:
                archive.addfile(entry, content)


def fuzz(name: str, seconds: int) -> tuple[bool, str]:
    """Returns whether nothing was found, and a row that tells what was done."""
    grown, log = GROWN / name, BUILD / f"{name}.log"
    grown.mkdir(parents=True, exist_ok=True)
    before = set(FINDINGS.glob(f"{name}-*"))
    command = [str(BINARIES / f"{name}_fuzz"), f"-max_total_time={seconds}", "-max_len=4096", "-timeout=20",
               "-rss_limit_mb=4096", "-print_final_stats=1", f"-artifact_prefix={FINDINGS}/{name}-"]
    if words := re.search(rf"^# {name}: .*\n((?:.+\n)+)", WORDS.read_text(), re.M):
        dictionary = BUILD / f"{name}.dict"
        dictionary.write_text(words[1])
        command.append(f"-dict={dictionary}")
    passed = run_logged([*command, str(grown), str(KEPT / name)], log, seconds + GRACE_SECONDS)
    text = log.read_text(errors="replace")
    executions = last(r"stat::number_of_executed_units: *(\d+)", text)
    if passed and executions in ("-", "0"):
        passed = False  # a fuzzer that ran nothing has found nothing, too
    result = "nothing found"
    if not passed:
        inputs = sorted(set(FINDINGS.glob(f"{name}-*")) - before)
        replay = f"; replay: {shown(BINARIES / f'{name}_fuzz')} {shown(inputs[0])}" if inputs else ""
        result = f"FAILED: {shown(log)}{replay}"
    return passed, ROW.format(name, executions, last(r"stat::average_exec_per_sec: *(\d+)", text),
                              last(r"INITED cov: (\d+)", text), last(r" cov: (\d+)", text),
                              last(r"stat::new_units_added: *(\d+)", text), result)


def merge(name: str) -> None:
    log = BUILD / f"{name}.merge.log"
    before = len(list((KEPT / name).iterdir()))
    command = [str(BINARIES / f"{name}_fuzz"), "-merge=1", "-max_len=4096", str(KEPT / name), str(GROWN / name)]
    if not run_logged(command, log, GRACE_SECONDS):
        sys.exit(f"run_fuzzers: the merge of {name} failed: {shown(log)}")
    print(f"{name}: {len(list((KEPT / name).iterdir())) - before} inputs more in {shown(ARCHIVE)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each harness (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="harnesses at once (default: processors)")
    parser.add_argument("--merge", action="store_true", help="afterwards, what is new goes into tests/fuzz/corpus.tar.xz")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of: " + " ".join(HARNESSES) + " (default: all)")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(HARNESSES))
    if unknown or arguments.seconds < 1 or arguments.jobs < 1:
        parser.error(f"no such harness: {' '.join(unknown)} (there are: {' '.join(HARNESSES)})" if unknown
                     else "--seconds and --jobs are at least 1")
    names = arguments.names or HARNESSES
    build(arguments.jobs)
    FINDINGS.mkdir(parents=True, exist_ok=True)
    unpack()
    print(ROW.format("harness", "executions", "a second", "edges", "after", "new", "result"), flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(fuzz, name, arguments.seconds) for name in names]):
            passed, row = done.result()
            failed += not passed
            print(row, flush=True)
    if failed:
        print(f"run_fuzzers: {failed} of {len(names)} harnesses failed; inputs: {shown(FINDINGS)}", file=sys.stderr)
        return 1
    if arguments.merge:
        for name in names:
            merge(name)
        pack()
    return 0


if __name__ == "__main__":
    sys.exit(main())
