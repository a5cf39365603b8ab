#!/usr/bin/env python3
"""What `ashlar agent` costs: scrapes of many small processes, a while in which nobody asks, and what the processes pay.

usage: bench/agent.py [BUILD [PROCESSES [SCRAPES]]]     build/release, 100, 30
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD, PROCESSES, SCRAPES = (sys.argv[1:] + ["build/release", "100", "30"][len(sys.argv) - 1:])
IDLE_SECONDS = 20


def processor_seconds(pid):
    """Of all threads, user and system."""
    seconds = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
            seconds += int(file.read().split()[0]) / 1e9
    return seconds


with tempfile.TemporaryDirectory(dir="/tmp") as folder:
    environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
    served = {**environment, "ASHLAR_CONTROL": "1", "LD_PRELOAD": os.path.abspath(f"{BUILD}/ashlar/libashlar-malloc.so")}
    processes = [subprocess.Popen(["cat"], env=served, stdin=subprocess.PIPE) for _ in range(int(PROCESSES))]
    agent = subprocess.Popen([f"{BUILD}/bin/ashlar", "agent", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        url = agent.stdout.readline().split()[-1] + "metrics"

        def scrape():
            begin = time.monotonic()
            with urllib.request.urlopen(url, timeout=30) as answer:
                text = answer.read()
            return time.monotonic() - begin, text
        while re.search(rb"^ashlar_agent_processes (\d+)", scrape()[1], re.M)[1] != PROCESSES.encode():
            time.sleep(0.6)
        time.sleep(1)
        pids = [each.pid for each in processes]
        before, theirs_before = processor_seconds(agent.pid), sum(map(processor_seconds, pids))
        scrapes = []
        for _ in range(int(SCRAPES)):
            scrapes.append(scrape())
            time.sleep(0.6)  # looks within half a second share their answers
        used, theirs = processor_seconds(agent.pid) - before, sum(map(processor_seconds, pids)) - theirs_before
        before = processor_seconds(agent.pid)
        time.sleep(IDLE_SECONDS)
        idle = processor_seconds(agent.pid) - before
        with open(f"/proc/{agent.pid}/status", encoding="utf-8") as file:
            most = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
    finally:
        for each in (agent, *processes):
            each.kill()
            each.wait()
print(f"{PROCESSES} processes, {SCRAPES} scrapes: {1000 * statistics.median(took for took, _ in scrapes):.0f} ms each (median), "
      f"{1000 * used / len(scrapes):.1f} ms of a processor in the agent, {1000 * theirs / len(scrapes):.1f} in all processes together, "
      f"{len(scrapes[-1][1]) / 1000:.0f} kB; while nobody asks {100 * idle / IDLE_SECONDS:.2f} % of a processor; "
      f"{most / 1024:.1f} MiB at most")
