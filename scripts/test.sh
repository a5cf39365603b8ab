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
skipped=()
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# What a test of this preset said first, as of why it was skipped.
first_words() {
  awk -v name="$2" '$2 == "Test:" && $3 == name { found = 1 } found && /^-----/ { getline; print; exit }' \
    "build/$1/Testing/Temporary/LastTest.log"
}

for preset in "${presets[@]}"; do
  started=$SECONDS
  built=
  echo "== $preset"
  case $preset in
    lint) scripts/lint.sh ;;
    lint-all) scripts/lint.sh --analyze ;;
    *)
      cmake --preset "$preset" >"$said" || { cat "$said"; exit 1; }
      cmake --build --preset "$preset" -j "$jobs"
      built=$((SECONDS - started))
      ctest --preset "$preset" -j "$jobs" --output-log "$said"
      while read -r name; do
        skipped+=("$preset, $name: $(first_words "$preset" "$name")")
      done < <(sed -nE 's/^\s*[0-9]+ - (\S+) \(Skipped\)$/\1/p' "$said")
      ;;
  esac
  summary+=("$(printf '%-14s passed in %4d s' "$preset" $((SECONDS - started)))${built:+, $built of them to build}")
done
printf '%s\n' "${summary[@]}"
printf '%-14s passed in %4d s\n' together "$SECONDS"
if [ "$SECONDS" -gt "$allowed_seconds" ]; then
  echo "test: that is longer than the $allowed_seconds s that it should take on two quiet processors; what became longer?"
fi
[ "${#skipped[@]}" -eq 0 ] || printf 'skipped: %s\n' "${skipped[@]}"
