#!/usr/bin/env bash
# Builds the unit tests of core, pool, arena, pages and heap for gcov (preset coverage), runs them, and tells what they left out.
# Usage: scripts/coverage.sh [--branches]      --branches: lines with a branch that was not taken, too. Ends non-zero when
# a test fails, a folder is below a bound, or a line that did not run has no reason in docs/coverage_reasons.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/coverage
mkdir -p "$build"
cmake --preset coverage >"$build/configure.log" || { cat "$build/configure.log" >&2; exit 1; }
cmake --build --preset coverage -j "$(nproc)" >"$build/build.log" || { tail -n 40 "$build/build.log" >&2; exit 1; }
find "$build" -name '*.gcda' -delete  # counts add up over runs
ctest --preset coverage -j "$(nproc)" >"$build/tests.log" || { cat "$build/tests.log" >&2; exit 1; }
python3 scripts/coverage_report.py "$@"
