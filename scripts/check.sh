#!/usr/bin/env bash
# Builds and runs what a change in one room needs: its unit tests, and the quick tests of the rooms and folders that use
# it. The last column of tests/suites.txt names them. Preset library (gcc, the library as it ships), in build/check.
# Usage: scripts/check.sh ROOM, with the name of a room of ashlar/ or tools/, such as heap or tune.
set -euo pipefail
cd "$(dirname "$0")/.."

room=${1-}
folder=$(sed -nE "s|^([a-z]+/$room):.*|\1|p" cmake/layers.txt)
if ! [[ $room =~ ^[a-z]+$ ]] || [ -z "$folder" ]; then
  echo "check: ${room:+no layer '$room'; }make check LAYER=NAME, with one of:" \
    "$(sed -nE 's|^[a-z]+/([a-z]+):.*|\1|p' cmake/layers.txt | paste -sd ' ')" >&2
  exit 2
fi
tools=OFF
[ "${folder%%/*}" != tools ] || tools=ON
jobs=$(nproc)
said=$(mktemp)
trap 'rm -f "$said"' EXIT

cmake --preset library -B build/check -DASHLAR_TEST_SUITES="check-$room" -DASHLAR_BUILD_TOOLS=$tools \
  -DASHLAR_BUILD_EXAMPLES=OFF >"$said" || { cat "$said"; exit 1; }
cmake --build build/check -j "$jobs" --target tests/all
built=$SECONDS
ctest --test-dir build/check -j "$jobs" --output-on-failure --no-tests=error -L "^check-$room\$"
echo "check: $folder passed in $SECONDS s, $built of them to build"
