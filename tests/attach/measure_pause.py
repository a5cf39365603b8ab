"""Measures how long a thread stands still when `ashlar record -p` attaches, begins and ends.

Run: measure_pause.py COMMAND PROGRAMS_FOLDER [MIB...]. A table on standard output: the median and the most of 20
attaches to a service with 8 busy threads, for each amount of memory that it holds besides.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

COMMAND, PROGRAMS = sys.argv[1:3]
AMOUNTS = sys.argv[3:] or ["0", "200"]
ATTACHES = 20

for amount in AMOUNTS:
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            [os.path.join(PROGRAMS, "attach_service"), os.path.join(PROGRAMS, "libattach_plugin.so"), amount],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        service.stdout.readline()
        pauses = []
        for _ in range(ATTACHES):
            result = subprocess.run(
                [COMMAND, "record", "-p", str(service.pid), "--seconds", "1", "-o", folder + "/t.atrace"],
                capture_output=True, text=True, check=True)
            pauses.append(float(re.search(r"stood still for ([0-9.]+) ms", result.stderr)[1]))
        service.communicate()
    print(f"{amount:>5} MiB held: median {statistics.median(pauses):.1f} ms, most {max(pauses):.1f} ms", flush=True)
