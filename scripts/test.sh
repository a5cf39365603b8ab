#!/usr/bin/env bash
# Builds and tests configurations in turn; the first failure ends it with a non-zero status.
# Usage: scripts/test.sh [--premerge | --all | --ports] [STEP...]
# A step is a preset of CMakePresets.json, or one with "-all" behind it (see configure below), or format, lint, lint-all
# (scripts/lint.sh), or fuzz (each harness for 60 s; before a merge asan-ubsan replays what the quick ones have kept).
# Default: format library asan-ubsan tsan.
# --premerge: what a merge passes besides: premerge asan-ubsan-premerge clang lint.
# --ports: other systems and processors, with 8 GB of memory for each process.
# --all: the steps with "-all", which build and run what takes too long for every merge; lint-all has clang's analyzer.
# While a step's tests run, the next one is built: tests wait for threads, clocks and system calls, and a processor is free.
set -euo pipefail
cd "$(dirname "$0")/.."

steps=(format library asan-ubsan tsan)
allowed_seconds=480  # on two processors: whoever changes a line waits for it
case ${1-} in
  --premerge)
    shift
    steps=(premerge asan-ubsan-premerge clang lint)
    allowed_seconds=1500
    ;;
  --ports)
    shift
    mapfile -t steps < <(sed -nE 's/^([^# ]+) .*/port-\1/p' cmake/ports.txt)
    # Of what programs and qemu write to, not of addresses.
    ulimit -d 8000000
    ;;
  --all)
    shift
    steps=(release-all clang-all asan-ubsan-all tsan-all pages-64k lint-all fuzz)
    allowed_seconds=3600
    ;;
esac
[ "$#" -eq 0 ] || steps=("$@")
jobs=$(nproc)
summary=()
skipped=()
logs=$(mktemp -d)
builder=  # process group of the build that runs beside the tests, if there is one
trap '[ -z "$builder" ] || kill -- -$builder 2>"$logs/kill" || true; rm -rf "$logs"' EXIT

is_preset() { [[ ! $1 =~ ^(format|lint|lint-all|fuzz)$ ]]; }

# Where a step is built. Those before a merge use the library that `make test` has compiled.
folder() {
  case $1 in
    premerge) echo build/library ;;
    asan-ubsan-premerge) echo build/asan-ubsan ;;
    *) echo "build/$1" ;;
  esac
}

# configure STEP: X-all is preset X with all that its tests have, in a folder of its own; port-X is preset port.
configure() {
  local options=() preset=${1%-all}
  case $1 in
    release-all) options=(-DASHLAR_TEST_SUITES= -DASHLAR_UNITY=OFF) ;;
    asan-ubsan-all) options=(-DASHLAR_TEST_SUITES= -DASHLAR_BUILD_TOOLS=ON -DASHLAR_BUILD_EXAMPLES=ON) ;;
    asan-ubsan-premerge)
      options=(-DASHLAR_TEST_SUITES=asan-premerge -DASHLAR_BUILD_TOOLS=ON -DASHLAR_BUILD_EXAMPLES=ON)
      preset=asan-ubsan
      ;;
    clang-all) options=('-DASHLAR_TEST_SUITES=clang-premerge;clang-nightly' -DASHLAR_BUILD_EXAMPLES=ON) ;;
    tsan-all) options=('-DASHLAR_TEST_SUITES=tsan-check;tsan-nightly') ;;
    port-*)
      export ASHLAR_PORT=${1#port-}
      preset=port
      ;;
  esac
  [ "${1%-all}" = "$1" ] || options+=(-DASHLAR_TEST_ALL=ON -DCMAKE_UNITY_BUILD=OFF)
  cmake --preset "$preset" -B "$(folder "$1")" "${options[@]}"
}

# start_build STEP: in the background, with its output in $logs/PRESET. Tests have the processors first.
start_build() {
  : >"$logs/$1"  # first: finish_build may read before the build has written
  set -m
  { configure "$1" >"$logs/configure" || { cat "$logs/configure"; exit 1; }
    nice cmake --build "$(folder "$1")" -j "$jobs"; } >>"$logs/$1" 2>&1 &
  builder=$!
  set +m
}

start_next() {
  if [ -n "$next" ] && is_preset "$next"; then start_build "$next"; fi
}

# finish_build STEP: shows what its build has said and says, until it ends.
finish_build() {
  tail -n +1 -f --pid="$builder" -s 0.2 "$logs/$1"
  wait "$builder" || exit 1
  builder=
}

# What a test of this step said first, as of why it was skipped.
first_words() {
  awk -v name="$2" '$2 == "Test:" && $3 == name { found = 1 } found && /^-----/ { getline; print; exit }' \
    "$(folder "$1")/Testing/Temporary/LastTest.log"
}

for i in "${!steps[@]}"; do
  step=${steps[i]}
  next=${steps[i + 1]-}
  started=$SECONDS
  built=
  echo "== $step"
  case $step in
    format)
      start_next  # it has one processor
      scripts/lint.sh --format
      ;;
    lint) scripts/lint.sh ;;
    lint-all) scripts/lint.sh --analyze ;;
    # Three share a processor: their time is of the clock.
    fuzz) tests/fuzz/run_fuzzers.py --seconds 60 --jobs $((3 * jobs)) ;;
    *)
      [ -n "$builder" ] || start_build "$step"
      finish_build "$step"
      built=$((SECONDS - started))
      start_next
      at_once=$jobs
      [ -n "$builder" ] || at_once=$((jobs + 1))  # no build beside them takes what waiting tests leave
      ctest --test-dir "$(folder "$step")" -j "$at_once" --output-on-failure --no-tests=error --output-log "$logs/tests" \
        --output-junit "$PWD/$(folder "$step")/tests.xml"
      while read -r name; do
        skipped+=("$step, $name: $(first_words "$step" "$name")")
      done < <(sed -nE 's/^\s*[0-9]+ - (\S+) \(Skipped\)$/\1/p' "$logs/tests")
      ;;
  esac
  summary+=("$(printf '%-14s passed in %4d s' "$step" $((SECONDS - started)))${built:+, $built of them waiting for its build}")
done
printf '%s\n' "${summary[@]}"
printf '%-14s passed in %4d s\n' together "$SECONDS"
if [ "$SECONDS" -gt "$allowed_seconds" ]; then
  echo "test: that is longer than the $allowed_seconds s that it should take on two quiet processors; what became longer?"
fi
[ "${#skipped[@]}" -eq 0 ] || printf 'skipped: %s\n' "${skipped[@]}"
