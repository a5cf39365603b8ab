#!/usr/bin/env python3
"""Static TLS: beside how many bytes of other modules a plugin with a copy of ashlar can be loaded, as docs/reliability.md says.

Usage: static_tls_test.py PROGRAM PLUGIN HOLDER_THAT_FITS HOLDER_TOO_MANY
"""
import os
import subprocess
import sys

program, plugin, fits, too_many = sys.argv[1:]


def load(holder, **more):
    run = subprocess.run([program, holder, plugin], env={**os.environ, **more}, capture_output=True, text=True,
                         check=False)
    return run.returncode, run.stdout + run.stderr


for expected, (status, said) in (
        ("", load(fits)),
        ("cannot allocate memory in static TLS block", load(too_many)),
        ("", load(too_many, GLIBC_TUNABLES="glibc.rtld.optional_static_tls=4096"))):
    if expected not in said or (status == 0) != (expected == ""):
        sys.exit(f"status {status}, {said!r}, where {expected!r} was expected")
