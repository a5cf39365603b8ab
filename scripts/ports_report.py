#!/usr/bin/env python3
"""Writes results/ports.md: what was built and tested for each system and processor (`make test-ports`).

It reads what the tests of each port of cmake/ports.txt left in build/ (tests.xml, by ctest --output-junit). One that has
none is told as not run; one with a failed test is an error.

Run: ports_report.py [PORT...]
With ports, as port-i386, only their rows are written anew, and the others stay.
"""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "results/ports.md"

# What a port does not have or show, beside what COMMON says.
LACKS = {
    "armhf": "three tests of the page heap, where no addresses are left for a room; a stack of calls ends at a function "
             "that cannot throw, if it was compiled without `-funwind-tables`",
    "s390x": "one test of descriptors: qemu 7.2 turns the bytes of some that a thread has of its own",
    "i386": "a place of the hardened heap that nobody can predict: there are too few addresses",
    "glibc217": "static programs: zig has no static glibc",
    "windows": "moving pages of large blocks, tests that need POSIX or start their own program anew",
    "macos-arm64": "**Nothing was run.** `mallinfo`, `mallopt`, moving pages of large blocks",
    "macos-x86_64": "**Nothing was run.** `mallinfo`, `mallopt`, moving pages of large blocks",
    "freebsd-x86_64": "**Nothing was run.** Control sockets, moving pages of large blocks, static programs",
    "freebsd-aarch64": "**Nothing was run.** Control sockets, moving pages of large blocks, static programs",
    "wasm32": "threads, settings, checks, the C API; memory is never given back",
    "musl": "`dlopen` is not replaced (musl has no RTLD_DEEPBIND). Reports have call stacks only where the program has "
            "an unwinder. `operator new` ends the program where its C++ library is linked into it and exports nothing",
}
COMMON = """Each row is of the last run of its port. The `ashlar` command, its recorder and Python's tests are built for none of
them ([how far each system was tested](../ashlar/os/PORTING.md#how-far-each-system-was-tested)). Under qemu, tests are
left out that start their own program anew, look for huge pages, measure memory or reserve hundreds of GiB; with the page
sizes of `port-aarch64` it refuses nothing, so the test reads the calls for memory. `port-glibc217` was run with this
machine's glibc, and the versions of its symbols were read."""
ARTEFACTS = ("libashlar.a", "libashlar.so", "libashlar-malloc.so", "libashlar-malloc-hardened.so", "ashlar-malloc.o")


def fail(message: str) -> None:
    raise SystemExit(f"ports_report: {message}")


def setting(folder: pathlib.Path, file: str, name: str) -> str:
    """A variable that CMake left in a file of the build, or an empty text."""
    for path in folder.glob(file):
        found = re.search(rf'^(?:set\({name} "?|{name}:[A-Z]+=)(.*?)"?\)?$', path.read_text(), re.M)
        if found:
            return found[1]
    return ""


def tests(folder: pathlib.Path) -> str:
    """How many of the test programs passed."""
    path = folder / "tests.xml"
    if not path.is_file():
        return "not run"
    listed = subprocess.run(["ctest", "--test-dir", folder, "-N"], check=True, capture_output=True, text=True).stdout
    there = re.search(r"^Total Tests: (\d+)$", listed, re.M)
    suite = xml.parse(path).getroot()
    if int(suite.get("failures", 0)) != 0:
        fail(f"{path.relative_to(ROOT)}: {suite.get('failures')} tests failed: no table of those that passed")
    passed = sum(program.get("status") == "run" for program in suite.iter("testcase"))
    not_run = sum(program.get("status") == "disabled" for program in suite.iter("testcase"))
    if not_run != 0:  # as cmake/port.cmake says
        return f"{not_run} linked, not run; {passed} that read the files passed"
    return f"{passed} of {there[1]}{of_page_sizes(suite)}"


def of_page_sizes(suite: xml.Element) -> str:
    """How many of them were run as on systems whose pages have several sizes (tests/page_sizes), and which."""
    runs = [int(found[1]) for program in suite.iter("testcase")
            if (found := re.match(r"pages_(\d+)_", program.get("name", "")))]
    sizes = [str(size >> 10) for size in sorted(set(runs))]
    return f"; {len(runs)} with pages of {', '.join(sizes[:-1])} and {sizes[-1]} KiB" if runs else ""


def has_artefact(folder: pathlib.Path, name: str) -> bool:
    """Whether the build has it, by the name that shared libraries have on its system."""
    return (folder / name).exists() or (folder / name.replace(".so", ".dylib")).exists()


def row(port: dict[str, str]) -> str:
    """The cells of the first table, behind the port's name."""
    folder = ROOT / "build" / port["name"]
    what = port["title"]
    name = port["name"].removeprefix("port-")
    if not (folder / "build.ninja").is_file():  # it was not configured
        return f"| {what} | | | not run | |"
    compiler = {"GNU": "gcc", "Clang": "clang (zig's)"}[setting(folder, "CMakeFiles/*/CMakeCXXCompiler.cmake",
                                                               "CMAKE_CXX_COMPILER_ID")]
    version = setting(folder, "CMakeFiles/*/CMakeCXXCompiler.cmake", "CMAKE_CXX_COMPILER_VERSION")
    emulator = setting(folder, "CMakeCache.txt", "ASHLAR_QEMU")
    by = pathlib.Path(emulator).name.removesuffix("-static") if emulator else "this machine"
    if setting(folder, "CMakeCache.txt", "ASHLAR_NODE"):
        by = "Node.js"
    if setting(folder, "CMakeCache.txt", "ASHLAR_WINE"):
        by = "wine"
    done = tests(folder)
    if done == "not run":
        by = ""
    elif "not run" in done:
        by = "nothing"
    lacks = [LACKS[name]] if name in LACKS else []
    if not (folder / "libashlar-malloc.a").is_file():  # WebAssembly's only one
        lacks += [f"`{a}`" for a in ARTEFACTS if not has_artefact(folder / "ashlar", a)]
    return f"| {what} | {compiler} {version} | {by} | {done} | {', '.join(lacks)} |"


def main() -> None:
    ports = [{"name": f"port-{found[0]}", "title": found[1]} for found in
             re.findall(r"^([^# ]+) +[a-z,]+ +(.*)$", (ROOT / "cmake/ports.txt").read_text(), re.M)]
    wanted = sys.argv[1:] or [port["name"] for port in ports]
    if unknown := set(wanted) - {port["name"] for port in ports}:
        fail(f"no such port: {', '.join(sorted(unknown))}")
    rows = dict(re.findall(rf"^\| `({'|'.join(p['name'] for p in ports)})` (\|.*)$", PAGE.read_text(), re.M))
    for port in ports:
        if port["name"] in wanted:
            rows[port["name"]] = row(port)
    lines = ["# Systems and processors", "",
             "`make test-ports` builds and tests these, and writes this page. Test programs are those that passed.", "",
             "| port | target | compiler | run by | test programs | what is not there |", "|---|---|---|---|---|---|"]
    lines += [f"| `{port['name']}` {rows[port['name']]}" for port in ports]
    lines += ["", COMMON]
    PAGE.write_text("\n".join(lines) + "\n")
    print(f"{PAGE.relative_to(ROOT)}: {len(ports)} systems and processors, {len(wanted)} of them anew")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        fail(str(error))
