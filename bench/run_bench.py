#!/usr/bin/env python3
"""The benchmarks' runner; `--help` tells its use, README.md its method."""

import sys

from ashlar_bench.cli import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nrun_bench: interrupted")
