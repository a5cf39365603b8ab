#!/usr/bin/env bash
# Packs the Rust crate, with the library's sources, and prints its path: build/crate/ashlar-VERSION.crate, or in FOLDER.
# Usage: packaging/make_crate.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-build/crate}")
version=$(sed -nE 's/^project\(ashlar VERSION (\S+).*/\1/p' CMakeLists.txt)
grep -qx "version = \"$version\"" packaging/rust/Cargo.toml || {
  echo "crate: packaging/rust/Cargo.toml does not have the version $version of CMakeLists.txt" >&2
  exit 1
}
umask 022
work=$folder/crate-work  # FOLDER may have other files
rm -rf "$work" "$folder"/ashlar-*.crate
mkdir -p "$work/ashlar"
cp -r packaging/rust/. LICENSE "$work/ashlar"
# Not libashlar's xmalloc: another library of the program may have functions of that name.
sed -nE '/^set\((posix|linux|shared|libashlar)_sources/,/\)$/p' ashlar/CMakeLists.txt |
  grep -oE '[a-z_]+/[a-z_]+\.cpp' | grep -vE '^adapt/x' >"$work/ashlar/sources.txt"
mapfile -t rooms < <(sed -nE 's|^(ashlar/[a-z]+):.*|\1|p' cmake/layers.txt | grep -vE '/(dropin|compat)$')
while read -r file; do
  mkdir -p "$work/ashlar/cpp/$(dirname "$file")"
  cp "$file" "$work/ashlar/cpp/$file"
done < <(find "${rooms[@]}" -name '*.h' -o -name '*.hpp' |
  grep -v _test; sed 's|^|ashlar/|' "$work/ashlar/sources.txt")
# --no-verify: tests/packages builds it.
cargo package --quiet --allow-dirty --no-verify --locked --manifest-path "$work/ashlar/Cargo.toml" \
  --target-dir "$work/target" >&2
cp "$work/target/package/ashlar-$version.crate" "$folder"
echo "$folder/ashlar-$version.crate"
