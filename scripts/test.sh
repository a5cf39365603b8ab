#!/usr/bin/env bash
# Builds and tests every configuration; the first failure ends it with a non-zero status.
# Usage: scripts/test.sh [PRESET...]      default: release clang asan-ubsan tsan, then the lint. debug (gcc at -O0) is
# left to whoever asks: asan-ubsan is at -O0 too, and all five take longer than CI may.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=("$@")
[ "${#presets[@]}" -gt 0 ] || presets=(release clang asan-ubsan tsan lint)
jobs=$(nproc)
summary=()

for preset in "${presets[@]}"; do
  started=$SECONDS
  echo "== $preset"
  if [ "$preset" = lint ]; then
    scripts/lint.sh
  else
    cmake --preset "$preset" >"/tmp/ashlar-configure-$$.log" || { cat "/tmp/ashlar-configure-$$.log"; exit 1; }
    rm -f "/tmp/ashlar-configure-$$.log"
    cmake --build --preset "$preset" -j "$jobs"
    ctest --preset "$preset" -j "$jobs"
  fi
  summary+=("$(printf '%-11s passed in %4d s' "$preset" $((SECONDS - started)))")
done
printf '%s\n' "${summary[@]}"
