#!/usr/bin/env python3
"""Does what the tutorials say, each in an empty folder, and compares what is printed with what they show.

The pages are written in Markdown; these parts of them count:
- A block ```console: a line `$ COMMAND` is run by bash, and the lines up to the next one are what it prints on a
  terminal of 120 columns. A command that ends in a backslash goes on in the next line. A command
  has to end with status 0, unless its line ends with `|| echo "status $?"`.
- A line `...` in such a block stands for any lines, also for none.
- `<!-- varies: REGEX -->`: in the rest of the page, what matches is not compared (times, numbers of processes).
- A block with `<!-- from examples/NAME -->` before it becomes the file NAME, without its folder, unless it leaves
  lines out. (check_docs.py compares it with the example.) With `<!-- file NAME -->` before it any block does.
- `<!-- needs: PROGRAM... -->`: where one of them is not installed, the page is skipped, and says so.
- `<!-- run: COMMAND -->` is run and not shown: what the reader has done before. $ROOT is the checkout there.

HOME is an empty folder, into which the build is installed as `cmake --install BUILD --prefix "$HOME/.local"` does
it, and PATH has "$HOME/.local/bin" first.

Run: run_tutorials.py ROOT BUILD PAGE... Prints a line for each page, with what differs, and ends with 1 if
something does. It ends with 77 if all pages were skipped. BUILD may be `-`: then nothing is installed.
"""
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

FENCE = re.compile(r"^```(\w*)\s*$")
FROM = re.compile(r"^<!-- from examples/(\S+) -->$")
FILE = re.compile(r"^<!-- file (\S+) -->$")
RUN = re.compile(r"^<!-- run: (.*) -->$")
NEEDS = re.compile(r"^<!-- needs: (.*) -->$", re.M)
VARIES = re.compile(r"^<!-- varies: (.*) -->$")
LEAVES_OUT = ("// ...", "/* ... */")
SECONDS = 120  # for one command
SKIPPED = 77  # what ctest takes for a test that was skipped


@dataclasses.dataclass
class Step:
    """A file to write (`name`), or a command to run, with what it prints."""
    line: int
    text: str
    name: str = ""
    shown: bool = True
    expected: list[str] = dataclasses.field(default_factory=list)
    varies: list[str] = dataclasses.field(default_factory=list)


def console_steps(block: list[str], line: int, varies: list[str]) -> list[Step]:
    """The commands of a block and what each prints."""
    steps: list[Step] = []
    open_command = False
    for number, text in enumerate(block, line):
        if open_command:
            steps[-1].text += "\n" + text
        elif text.startswith("$ "):
            steps.append(Step(number, text[2:], varies=list(varies)))
        elif steps:
            steps[-1].expected.append(text)
        else:
            raise SystemExit(f"line {number}: output before the first command")
        open_command = (open_command or text.startswith("$ ")) and text.endswith("\\")
    return steps


def steps_of(page: pathlib.Path) -> list[Step]:
    """What the page says, in its order."""
    steps: list[Step] = []
    varies: list[str] = []
    block: list[str] | None = None
    language = previous = ""
    opened = 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if block is None and fence:
            block, language, opened, before = [], fence[1], number, previous
        elif block is not None and fence:
            name = FILE.match(before) or FROM.match(before)
            if language == "console":
                steps += console_steps(block, opened + 1, varies)
            elif name and not any(text.strip() in LEAVES_OUT for text in block):
                steps.append(Step(opened, "\n".join(block) + "\n", name=pathlib.Path(name[1]).name))
            block = None
        elif block is not None:
            block.append(line)
        elif RUN.match(line):
            steps.append(Step(number, RUN.match(line)[1], shown=False))
        elif VARIES.match(line):
            varies.append(VARIES.match(line)[1])
        previous = line
    return steps


def comparable(lines: list[str], varies: list[str]) -> list[str]:
    """The lines without what varies, and without white space at their ends."""
    for pattern in varies:
        lines = [re.sub(pattern, "~", line) for line in lines]
    return [line.rstrip() for line in lines]


def matches(expected: list[str], printed: list[str]) -> bool:
    """Whether the lines are the same, where `...` stands for any lines."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(matches(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and matches(expected[1:], printed[1:])


def run_on_terminal(command: str, folder: str, environment: dict[str, str]) -> tuple[int | None, list[str]]:
    """The status of a command (None if it did not end) and the lines that a reader sees. On a pipe, a program would
    print its standard output after its standard error."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 120))
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    text = b""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and select.select([ours], [], [], max(0, end - time.monotonic()))[0]:
        try:
            text += os.read(ours, 65536)
        except OSError:  # nobody has the terminal open any more
            break
    os.close(ours)
    try:
        status = process.wait(max(1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, []
    # Of a line that is written over, as progress is, the last state stays.
    shown = re.sub(r"[^\n]*\r(\x1b\[K)?", "", text.decode(errors="replace").replace("\r\n", "\n"))
    return status, shown.removesuffix("\n").split("\n") if shown else []


def missing_for(page: pathlib.Path) -> str:
    """The programs that the page needs and that are not installed."""
    needed = " ".join(NEEDS.findall(page.read_text())).split()
    return ", ".join(program for program in needed if shutil.which(program) is None)


def run_page(page: pathlib.Path, environment: dict[str, str]) -> str:
    """What the page says and is not so, or nothing."""
    steps = steps_of(page)
    if not any(step.shown and not step.name for step in steps):
        return "it has no command: nothing was tested"
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        for step in steps:
            if step.name:
                pathlib.Path(folder, step.name).write_text(step.text)
                continue
            status, printed = run_on_terminal(step.text, folder, environment)
            if status is None:
                return f"line {step.line}: not finished after {SECONDS} s: {step.text}"
            if status != 0:
                return f"line {step.line}: status {status}: {step.text}\n" + "\n".join(printed)
            expected, got = comparable(step.expected, step.varies), comparable(printed, step.varies)
            if step.shown and not matches(expected, got):
                difference = "\n".join(difflib.unified_diff(expected, got, "the page", "printed", lineterm="", n=0))
                return f"line {step.line}: it prints something else: {step.text}\n{difference}"
    return ""


def main() -> int:
    root, build, *names = sys.argv[1:]
    pages = [pathlib.Path(name) for name in names]
    for page in pages:
        if missing := missing_for(page):
            print(f"{page}: skipped, for want of {missing}", flush=True)
    pages = [page for page in pages if not missing_for(page)]
    if not pages:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="home-") as home:
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("ASHLAR") and name != "LD_PRELOAD"}
        environment |= {"HOME": home, "ROOT": str(pathlib.Path(root).resolve()), "LC_ALL": "C.UTF-8",
                        "PATH": f"{home}/.local/bin:{os.environ['PATH']}"}
        if build != "-":
            subprocess.run(["cmake", "--install", build, "--prefix", f"{home}/.local"], check=True,
                           stdout=subprocess.DEVNULL)
        faults = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # some of their programs sleep
            for page, fault in zip(pages, pool.map(lambda page: run_page(page, environment), pages)):
                faults += bool(fault)
                print(f"{page}: {fault or 'as it says'}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
