#!/usr/bin/env bash
# Builds the peers that Debian does not have as shared libraries to preload: build/peers/lib*.so.
# Usage: make peers, which runs this when a library is missing or older than what it is made from.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=build/peers
log=$folder/build.log
mkdir -p "$folder"

# What went wrong and what helps, after the end of what the failing program said.
give_up() {
  tail -n 15 "$log" >&2
  echo "peers: $1 (whole log: $log)" >&2
  exit 1
}

scripts/setup.sh peers
command -v cargo >/dev/null || scripts/setup.sh cargo

echo "peers: fetching the crates that bench/peers/Cargo.lock pins"
rm -rf "$folder/crates"
cargo vendor --locked --manifest-path bench/peers/Cargo.toml "$folder/crates" >"$log" 2>&1 ||
  give_up "cargo could not fetch; it needs version 1.68 or newer (Debian: cargo-web) and the crates' registry"

echo "peers: building hardened_malloc, mimalloc, rpmalloc and snmalloc"
cmake -S bench/peers -B "$folder/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCRATES="$PWD/$folder/crates" \
  -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$PWD/$folder" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ >"$log" 2>&1 ||
  give_up "cmake does not configure"
cmake --build "$folder/cmake" -j "$(nproc)" >"$log" 2>&1 || give_up "the build failed"
touch "$folder"/lib*.so  # also those that were as they should be: make compares them with the files here
bench/peers/check_peers.py mimalloc2 mimalloc3 snmalloc rpmalloc
