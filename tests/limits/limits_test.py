#!/usr/bin/env python3
"""The limit of the process heap: in each edition, at its end, in a control group, under redis.

usage: limits_test.py WHAT PROGRAM LIBRARY HARDENED_LIBRARY
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WHAT, PROGRAM, LIBRARY, HARDENED = sys.argv[1:5]
MIB = 1 << 20


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def run(*words, library=LIBRARY, status=0, **settings):
    """What the program says, and what the library says, of a run with these settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASHLAR_")}
    environment.update({"LD_PRELOAD": library, **{f"ASHLAR_{name}": value for name, value in settings.items()}})
    done = subprocess.run([PROGRAM, *map(str, words)], env=environment, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == status, (words, settings, done)
    return done.stdout, done.stderr


def got(text):
    found = re.search(r"got (\d+) MiB: (.*)", text)
    assert found, text
    return int(found.group(1)), found.group(2)


def editions():
    """The limit is kept and used up, whatever looks at the calls; the program goes on."""
    for library, settings in ((LIBRARY, {}), (HARDENED, {}), (LIBRARY, {"SAMPLE": "64K"}), (LIBRARY, {"CHECK": "1"}),
                              (LIBRARY, {"CHECK": "full", "CHECK_STACK_DEPTH": "0"}), (LIBRARY, {"BACKGROUND": "1"}),
                              (LIBRARY, {"PURGE_DELAY_MS": "-1"})):
        with tempfile.NamedTemporaryFile() as file:
            out, errors = run(400, library=library, LIMIT="64M", STATS_FILE=file.name, **settings)
            total = json.load(file)["total"]
        mib, why = got(out)
        # With full checks, freed blocks wait within the limit, and guarded blocks are beside it.
        least, beside = (40, 8 * MIB) if settings.get("CHECK") == "full" else (58, 0)
        assert least <= mib <= 66 and why == "Cannot allocate memory" and errors == "", (settings, out, errors)
        assert total["limit_bytes"] == 64 * MIB, (settings, total)
        assert total["peak_committed_bytes"] <= 64 * MIB + beside, (settings, total)
        assert total["limit_refusals"] >= 1, (settings, total)
        out, errors = run(400, "drop", library=library, LIMIT="64MiB", **settings)
        assert re.search(r"called ([3-9]|\d\d+) times, dropped 24 MiB", out) and errors == "", (settings, out, errors)
        assert got(out)[0] >= least, (settings, out)
    assert got(run(100, LIMIT="0")[0]) == (100, "all")
    for wrong in ("64MB", "101%", "much"):
        out, errors = run(100, LIMIT=wrong)
        assert got(out) == (100, "all"), out
        assert errors == (f"ashlar: ASHLAR_LIMIT={wrong} is ignored: expected bytes such as 512M, a percentage such as "
                          "90%, or 0 for none\n"), errors
    print("each edition keeps to 64 MiB")


def end():
    """The process ends in one line, which names who holds most."""
    line = (r"ashlar: malloc\(0x0\): out of memory, needed 262144, limit 33554432 \(ASHLAR_LIMIT\), committed 3\d{7}, "
            r"in use 3\d{7}, ")
    out, errors = run(400, status=-signal.SIGABRT, LIMIT="32M", LIMIT_ACTION="end")
    assert out == "" and re.fullmatch(line + r"most of it held by large blocks \(3\d{7} bytes\).*"
                                     ", ASHLAR_SAMPLE=512K tells .*\n", errors), errors
    _, errors = run(400, status=-signal.SIGABRT, LIMIT="32M", LIMIT_ACTION="end", SAMPLE="64K")
    named = re.fullmatch(line + r"most of it held by hold_most at (\S+)\+0x[0-9a-f]+ from main at \1\+0x[0-9a-f]+ "
                         r"\((\d+) bytes, tag blocks\).*\n", errors)
    assert named and named.group(1) == PROGRAM and 24 * MIB <= int(named.group(2)) <= 40 * MIB, errors
    _, errors = run(400, status=-signal.SIGABRT, LIMIT="32M", LIMIT_ACTION="end", FAULT_FORMAT="json")
    told = json.loads(errors.splitlines()[1])
    assert told["kind"] == "exhausted" and told["more"].startswith("limit 33554432 "), told
    assert len(errors.splitlines()) == 2, errors
    print("one line at the end")


def group():
    """A percentage is of what the control group may have: the group never comes to its limit."""
    if subprocess.run([PROGRAM, "0", "group", str(128 * MIB), "0"], check=False).returncode == 77:
        skip("no control group can be made here")
    out, errors = run(400, "group", 128 * MIB, "75%")
    mib, why = got(out)
    assert 90 <= mib <= 96 and why == "Cannot allocate memory" and errors == "", (out, errors)
    print("75 % of a group of 128 MiB are 96 MiB")


def redis():
    """redis with maxmemory and a limit above it: it evicts, and nothing is refused."""
    server, client = shutil.which("redis-server"), shutil.which("redis-cli")
    if server is None or client is None:
        skip("redis is not installed")
    with tempfile.TemporaryDirectory(prefix="lim", dir="/tmp") as folder:
        figures, address = os.path.join(folder, "stats"), os.path.join(folder, "s")
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "ASHLAR_LIMIT": "80M", "ASHLAR_STATS_FILE": figures}
        process = subprocess.Popen(
            [server, "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no", "--maxmemory", "64mb",
             "--maxmemory-policy", "allkeys-lru", "--dir", folder], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            for _ in range(400):
                if os.path.exists(address) or process.poll() is not None:
                    break
                time.sleep(0.05)

            def ask(commands):
                return subprocess.run([client, "-s", address], input=commands, text=True, capture_output=True,
                                      timeout=100, check=True).stdout
            # 200 MB of values whose sizes change: what is evicted is of other classes than what comes.
            for turn in range(4):
                said = ask("".join(f"SET {turn}:{i} {'v' * (100 + (i * 37 + turn * 700) % 3000)}\n"
                                   for i in range(30000)))
                assert said.count("OK") == 30000, said[:500]
            info = ask("INFO stats\nINFO memory\n")
            ask("SHUTDOWN NOSAVE\n")
            assert process.wait(timeout=30) == 0
            told = process.stdout.read()
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
        with open(figures, encoding="utf-8") as file:
            total = json.load(file)["total"]
    evicted = int(re.search(r"evicted_keys:(\d+)", info).group(1))
    assert evicted > 10000, info
    assert "ashlar:" not in told, told
    assert total["limit_refusals"] == 0 and total["peak_committed_bytes"] <= 80 * MIB, total
    print(f"{evicted} keys evicted, {total['peak_committed_bytes'] / MIB:.1f} MiB at the peak, nothing refused")


{"editions": editions, "end": end, "group": group, "redis": redis}[WHAT]()
