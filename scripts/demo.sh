#!/usr/bin/env bash
# Real, unmodified programs on ashlar beside the system's allocator: one table, one pool report; and one program recorded,
# with pools chosen for it, checked and replayed, and a page about it.
# Usage: scripts/demo.sh [RUNS]        default: 5 measured runs of each program on each allocator
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-5}
folder=build/demo
log=$folder/build.log
mkdir -p "$folder"

say() { printf '\n== %s\n' "$*"; }

scripts/setup.sh build demo

say "building the library and the command (Release, in build/release)"
if ! { cmake --preset release && cmake --build --preset release --target ashlar_cli -j "$(nproc)"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "demo: the build failed (whole log: $log)" >&2
  exit 1
fi
ashlar=build/release/bin/ashlar

say "making the inputs (in $folder)"
# The distribution's python3 is taken before one that a version manager put in front of it.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
compiler=$(g++ -print-prog-name=cc1plus)
[ -x "$compiler" ] || compiler=$(command -v "$compiler") || {
  echo "demo: g++ does not tell where its cc1plus is" >&2
  exit 1
}
g++ -std=c++20 -E bench/programs/includes.cpp -o "$folder/includes.ii"
echo "python3   $python, a JSON round trip; PYTHONMALLOC=malloc: every object is a block of malloc's"
echo "sqlite3   $(command -v sqlite3), an in-memory load, joins and groups"
echo "cc1plus   $compiler -O1, $(wc -l <"$folder/includes.ii") lines of preprocessed C++"

compare() {
  local label=$1
  shift
  say "$label: $runs rounds on the system's allocator and on ashlar"
  "$ashlar" compare -n "$runs" --only system,ashlar --label "$label" --json="$folder/$label.json" -- "$@" >"$folder/$label.txt" || {
    cat "$folder/$label.txt" >&2
    echo "demo: $label did not run as expected" >&2
    exit 1
  }
}
json_round_trip=(env PYTHONMALLOC=malloc PYTHONHASHSEED=0 "$python" bench/programs/python_json.py)
compare python3 "${json_round_trip[@]}"
compare sqlite3 sqlite3 -batch :memory: ".read bench/programs/sqlite_joins.sql"
compare cc1plus "$compiler" -quiet -fpreprocessed -std=c++20 -O1 "$folder/includes.ii" -o /dev/null

say "the pools of python3's JSON round trip (one more run)"
"$ashlar" run --json="$folder/pools.json" -- "${json_round_trip[@]}" >/dev/null

say "measure, choose, prove: python3 recorded, pools chosen from the trace, checked and replayed"
chain=$folder/python3
"$ashlar" record --no-stacks -o "$chain.atrace" -- "${json_round_trip[@]}" >/dev/null
"$ashlar" tune --largest 32768 -o "${chain}_pools.hpp" "$chain.atrace"
"$ashlar" tune verify "${chain}_pools.json"
"$ashlar" tune --mode heap -o "$chain.classes" "$chain.atrace"
"$ashlar" replay -n 1 --on system,ashlar --json="${chain}_replay.json" "$chain.atrace"
"$ashlar" report --pools "${chain}_pools.json" --compare "$chain.json" --replay "${chain}_replay.json" \
  -o "$chain.html" "$chain.atrace"

say "time and memory of $(uname -sm), $(nproc) processors; ratio to the system's allocator, below 1 is better"
"$ashlar" compare --summary "$folder"/{python3,sqlite3,cc1plus}.json
echo
echo "All samples: $folder/*.json; python3's report, a page for any browser: $chain.html"
echo "Try your own: $ashlar compare -- PROGRAM ARGUMENTS, or $ashlar record -- PROGRAM ARGUMENTS"
