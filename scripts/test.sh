#!/usr/bin/env bash
# Builds and tests every configuration; the first failure ends it with a non-zero status.
# Usage: scripts/test.sh [--all] [PRESET...]
# Default: release clang asan-ubsan tsan, then the lint.
# --all: the same presets with "-all", which build and run what takes too long for every landing, and the lint with
# clang's analyzer. debug (gcc at -O0) is left to whoever asks: asan-ubsan is at -O0 too.
set -euo pipefail
cd "$(dirname "$0")/.."

allowed_seconds=600  # on two processors; a landing waits for it
presets=(release clang asan-ubsan tsan lint)
if [ "${1-}" = --all ]; then
  shift
  presets=(release-all clang-all asan-ubsan-all tsan-all lint-all)
  allowed_seconds=3600
fi
[ "$#" -eq 0 ] || presets=("$@")
jobs=$(nproc)
summary=()

for preset in "${presets[@]}"; do
  started=$SECONDS
  built=
  echo "== $preset"
  case $preset in
    lint) scripts/lint.sh ;;
    lint-all) scripts/lint.sh --analyze ;;
    *)
      cmake --preset "$preset" >"/tmp/ashlar-configure-$$.log" || { cat "/tmp/ashlar-configure-$$.log"; exit 1; }
      rm -f "/tmp/ashlar-configure-$$.log"
      cmake --build --preset "$preset" -j "$jobs"
      built=$((SECONDS - started))
      ctest --preset "$preset" -j "$jobs"
      ;;
  esac
  summary+=("$(printf '%-14s passed in %4d s' "$preset" $((SECONDS - started)))${built:+, $built of them to build}")
done
printf '%s\n' "${summary[@]}"
printf '%-14s passed in %4d s\n' together "$SECONDS"
if [ "$SECONDS" -gt "$allowed_seconds" ]; then
  echo "test: that is longer than the $allowed_seconds s that it should take on two quiet processors; what became longer?"
fi
