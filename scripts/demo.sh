#!/usr/bin/env bash
# Real, unmodified programs on ashlar beside the system's allocator: a table of each, and one of all. With --tools, what
# the command does besides: one program's pools, its recording, pools that are chosen from it and proven, and its page.
# Usage: scripts/demo.sh [--tools] [RUNS]      default: 3 measured runs of each program on each allocator
set -euo pipefail
cd "$(dirname "$0")/.."

tools=
if [ "${1-}" = --tools ]; then
  tools=1
  shift
fi
runs=${1:-3}
folder=build/demo
mkdir -p "$folder"

say() { printf '\n== %s\n' "$*"; }

build() {  # TARGET
  cmake --preset product >/dev/null
  cmake --build --preset release --target "$1" -j "$(nproc)"
}

# The distribution's python3 is taken before one that a version manager put in front of it.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
json_round_trip=("$python" bench/programs/python_json.py)
export PYTHONHASHSEED=0

if [ -n "$tools" ]; then
  say "building the command (minutes; in build/release)"
  build ashlar_cli
  ashlar=build/release/bin/ashlar
  chain=$folder/python3
  export PYTHONMALLOC=malloc  # each object is a block

  say "the pools of python3's JSON round trip"
  "$ashlar" run --json="$folder/pools.json" -- "${json_round_trip[@]}" >/dev/null

  say "measure, choose, prove: python3 recorded, pools chosen from the trace, checked and replayed"
  "$ashlar" record -o "$chain.atrace" -- "${json_round_trip[@]}" >/dev/null
  "$ashlar" tune --largest 32768 -o "${chain}_pools.hpp" "$chain.atrace"
  "$ashlar" tune verify "${chain}_pools.json"
  "$ashlar" replay -n 1 --on system,ashlar --json="${chain}_replay.json" "$chain.atrace"
  "$ashlar" report --pools "${chain}_pools.json" --replay "${chain}_replay.json" -o "$chain.html" "$chain.atrace"
  echo "python3's report, a page for any browser: $chain.html"
  exit
fi

say "building the drop-in library and compare (a minute; in build/release)"
build ashlar_compare
ashlar=build/release/bin/ashlar_compare

compare() {
  local label=$1
  shift
  say "$label: $runs rounds on the system's allocator and on ashlar"
  "$ashlar" compare -n "$runs" --only system,ashlar --label "$label" --json="$folder/$label.json" -- "$@" 2>"$folder/$label.txt" || {
    cat "$folder/$label.txt" >&2
    echo "demo: $label did not run as expected" >&2
    exit 1
  }
}
compare python3 "${json_round_trip[@]}"
PYTHONMALLOC=malloc compare python3-malloc "${json_round_trip[@]}"  # each object is a block
compare sqlite3 sqlite3 -batch :memory: ".read bench/programs/sqlite_joins.sql"
compiler=$(g++ -print-prog-name=cc1plus)
[ -x "$compiler" ] || compiler=$(command -v "$compiler") || {
  echo "demo: g++ does not tell where its cc1plus is" >&2
  exit 1
}
g++ -std=c++20 -E bench/programs/includes.cpp -o "$folder/includes.ii"
compare cc1plus "$compiler" -quiet -fpreprocessed -std=c++20 -O1 "$folder/includes.ii" -o /dev/null

say "all of $(uname -sm), $(nproc) processors; ratio to the system's allocator, below 1 is better"
"$ashlar" compare --summary "$folder"/{python3,python3-malloc,sqlite3,cc1plus}.json
echo
echo "All samples: $folder/*.json"
echo "Your own program: $ashlar compare -- PROGRAM ARGUMENTS"
echo "Record it, choose pools for it: make demo-tools, or make build for the whole command"
