#!/usr/bin/env bash
# Fuzzes every harness of tests/fuzz, one after the other, and ends non-zero when one finds something.
# Usage: scripts/fuzz.sh [SECONDS [NAME...]]      default: 60 seconds each, all of them.
# What grows is kept in build/fuzz/corpus/NAME for the next run; an input that fails, in build/fuzz/findings. To replay
# one: build/fuzz/tests/fuzz/NAME_fuzz FILE. To renew the kept corpus: build/fuzz/tests/fuzz/NAME_fuzz -merge=1 (docs
# of libFuzzer) into tests/fuzz/corpus/NAME.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || {
  echo "fuzz: '$seconds' is no number of seconds; usage: scripts/fuzz.sh [SECONDS [NAME...]]" >&2
  exit 2
}
binaries=build/fuzz/tests/fuzz
log=build/fuzz/configure.log
mkdir -p build/fuzz/findings
cmake --preset fuzz >"$log" || { cat "$log" >&2; exit 1; }
cmake --build --preset fuzz -j "$(nproc)" >"$log" || { cat "$log" >&2; exit 1; }
names=("$@")
[ "${#names[@]}" -gt 0 ] || mapfile -t names < <(cd tests/fuzz/corpus && printf '%s\n' *)
symbolizer=$(command -v llvm-symbolizer-19 || true)
[ -z "$symbolizer" ] || export ASAN_SYMBOLIZER_PATH=$symbolizer

found=0
row='%-16s %12s %10s %7s %7s  %s\n'
# shellcheck disable=SC2059  # the row is the format
printf "$row" harness executions per_second edges inputs result
for name in "${names[@]}"; do
  [ -x "$binaries/${name}_fuzz" ] || {
    echo "fuzz: there is no harness '$name' (one of: $(cd tests/fuzz/corpus && echo *))" >&2
    exit 2
  }
  grown=build/fuzz/corpus/$name
  log=build/fuzz/$name.log
  mkdir -p "$grown"
  options=(-max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
    -artifact_prefix="build/fuzz/findings/$name-")
  [ ! -f "tests/fuzz/$name.dict" ] || options+=(-dict="tests/fuzz/$name.dict")
  result="nothing found"
  if ! "$binaries/${name}_fuzz" "${options[@]}" "$grown" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    found=$((found + 1))
    result="FOUND: $log"
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  edges=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -n 1)
  # shellcheck disable=SC2059
  printf "$row" "$name" "${executions:--}" "${rate:--}" "${edges:--}" "$(find "$grown" -type f | wc -l)" "$result"
done
[ "$found" -eq 0 ] || {
  echo "fuzz: $found of ${#names[@]} harnesses found something; the inputs are in build/fuzz/findings" >&2
  exit 1
}
