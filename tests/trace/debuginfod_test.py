#!/usr/bin/env python3
"""Debug information from a debuginfod server: asked for by build id where DEBUGINFOD_URLS names one,
and never otherwise. The server is this script, on 127.0.0.1.

Run: debuginfod_test.py COMMAND PROGRAM, where PROGRAM is planted_leak with debug information. Ends with 77 where
libdebuginfod is missing.
"""
import contextlib
import ctypes
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

NOT_RUN = 77


class server:
    """Files of a folder by HTTP. `asked` has the paths that were asked for."""

    def __init__(self, folder):
        self.asked = []
        asked = self.asked

        class handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                asked.append(self.path)

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                    functools.partial(handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def end(self):
        self.http.shutdown()
        self.http.server_close()


def build_id_of(program):
    notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


class trial:
    """A recorded program without debug information, and what a server has of it."""

    def __init__(self, command, program, folder):
        self.command, self.folder = command, folder
        self.program = folder / "program"
        self.caches = 0
        subprocess.run(["strip", "-o", self.program, program], check=True)
        self.run(None, "record", "--stacks", "-o", "run.atrace", "--", self.program)
        self.there = folder / "served" / "buildid" / build_id_of(self.program)
        self.there.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", program, self.there / "debuginfo"], check=True)

    def run(self, servers, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEBUGINFOD")}
        self.caches += 1  # nothing is known from the run before
        environment["DEBUGINFOD_CACHE_PATH"] = str(self.folder / f"cache{self.caches}")
        if servers is not None:
            environment["DEBUGINFOD_URLS"] = servers
        return subprocess.run([self.command, *words], cwd=self.folder, env=environment, check=True,
                              capture_output=True, text=True)

    def has_lines(self, servers, trace="run.atrace"):
        stat = self.run(servers, "report", "--text", "--json", "--rows", "100", trace)
        places = [place for site in json.loads(stat.stdout)["held_at_end"] for place in site["sources"]]
        return any("planted_leak.cpp:" in place for place in places), stat.stderr


def require(condition, what):
    if not condition:
        sys.exit(f"debuginfod_test: {what}")


def main():
    command, program = sys.argv[1:]
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("libdebuginfod is missing (Debian: apt-get install libdebuginfod1)")
        sys.exit(NOT_RUN)
    with tempfile.TemporaryDirectory(prefix="ashlar-test-") as name, contextlib.ExitStack() as at_end:
        folder = pathlib.Path(name)
        tried = trial(command, program, folder)
        served = server(folder / "served")
        at_end.callback(served.end)

        for none in (None, ""):
            require(not tried.has_lines(none)[0], "lines though nobody has them")
            require(not served.asked, f"asked though DEBUGINFOD_URLS is unset: {served.asked}")

        found, said = tried.has_lines(served.url)
        require(found, f"the program is stripped, the server has its debug information, and there is no line: {said}")
        wanted = f"/buildid/{tried.there.name}/debuginfo"
        require(wanted in served.asked, f"{wanted} is not among {served.asked}")
        require(all(re.fullmatch(r"/buildid/[0-9a-f]+/(debuginfo|executable)", path) for path in served.asked),
                f"something else was asked for: {served.asked}")

        tried.program.rename(folder / "elsewhere")
        require(not tried.has_lines(None)[0], "lines of a program that is gone")
        found, said = tried.has_lines(served.url)
        require(found, f"the program is gone, the server has its debug information, and there is no line: {said}")
        require("is gone" not in said, said)
        shutil.copy(folder / "elsewhere", tried.there / "executable")
        require(tried.has_lines(served.url)[0], "the server has the program, too, and there is no line")

        tried.run(served.url, "export", "--symbols", "run.atrace", "-o", "named.atrace")
        served.asked.clear()
        require(tried.has_lines(None, "named.atrace")[0], "names from a server are not in the trace")
        require(not served.asked, "asked though the trace has the names")

        url = served.url
        shutil.rmtree(folder / "served")
        found, said = tried.has_lines(url)
        require(not found and "program' is gone" in said, f"a server that has nothing: {said}")
    dead = server(pathlib.Path("/"))
    dead.end()
    with tempfile.TemporaryDirectory(prefix="ashlar-test-") as name:
        tried = trial(command, program, pathlib.Path(name))
        found, said = tried.has_lines(dead.url)
        require(not found and "no lines, for lack of debug information" in said, f"no server at all: {said}")


if __name__ == "__main__":
    main()
