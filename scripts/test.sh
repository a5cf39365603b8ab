#!/usr/bin/env bash
# Builds and tests configurations in turn; the first failure ends it with a non-zero status.
# Usage: scripts/test.sh [--landing | --all | --ports] [STEP...]
# A step is a preset of CMakePresets.json, or format, lint, lint-all (scripts/lint.sh), or fuzz (each harness for a minute).
# Default: format library asan-ubsan tsan.
# --landing: what a landing passes besides: landing clang pages-64k lint fuzz.
# --ports: other processors, with 8 GB of memory for each process.
# --all: the presets with "-all", which build and run what takes too long for every landing, and the lint with clang's
# analyzer. debug (gcc at -O0) is left to whoever asks: asan-ubsan is at -O0 too.
# While a preset's tests run, the next one is built: tests wait for threads, clocks and system calls, and a processor is free.
set -euo pipefail
cd "$(dirname "$0")/.."

steps=(format library asan-ubsan tsan)
allowed_seconds=600  # on two processors: who changes a line waits for it
case ${1-} in
  --landing)
    shift
    steps=(landing clang pages-64k lint fuzz)
    ;;
  --ports)
    shift
    steps=(port-i386 port-aarch64)
    # Of what programs and qemu write to, not of addresses.
    ulimit -d 8000000
    ;;
  --all)
    shift
    steps=(release-all clang-all asan-ubsan-all tsan-all lint-all)
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

# start_build PRESET: in the background, with its output in $logs/PRESET. Tests have the processors first.
start_build() {
  : >"$logs/$1"  # first: finish_build may read before the build has written
  set -m
  { cmake --preset "$1" >"$logs/configure" || { cat "$logs/configure"; exit 1; }
    nice cmake --build --preset "$1" -j "$jobs"; } >>"$logs/$1" 2>&1 &
  builder=$!
  set +m
}

# finish_build PRESET: shows what its build has said and says, until it ends.
finish_build() {
  tail -n +1 -f --pid="$builder" -s 0.2 "$logs/$1"
  wait "$builder" || exit 1
  builder=
}

# What a test of this preset said first, as of why it was skipped.
first_words() {
  awk -v name="$2" '$2 == "Test:" && $3 == name { found = 1 } found && /^-----/ { getline; print; exit }' \
    "build/$1/Testing/Temporary/LastTest.log"
}

for i in "${!steps[@]}"; do
  step=${steps[i]}
  next=${steps[i + 1]-}
  started=$SECONDS
  built=
  echo "== $step"
  case $step in
    format) scripts/lint.sh --format ;;
    lint) scripts/lint.sh ;;
    lint-all) scripts/lint.sh --analyze ;;
    # Three share a processor: their minute is of the clock.
    fuzz) tests/fuzz/run_fuzzers.py --seconds 60 --jobs $((3 * jobs)) ;;
    *)
      [ -n "$builder" ] || start_build "$step"
      finish_build "$step"
      built=$((SECONDS - started))
      if [ -n "$next" ] && is_preset "$next"; then start_build "$next"; fi
      ctest --preset "$step" -j "$jobs" --output-log "$logs/tests"
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
