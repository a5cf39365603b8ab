#!/usr/bin/env bash
# Builds all files of a release into build/release-files, or into FOLDER: the source archive, the drop-in library for any
# Linux with glibc 2.17, the Debian packages, the Python wheel, the Rust crate, ashlar_pools.hpp, what was measured here (build/results, if it is there), the bill of
# materials and SHA256SUMS. The same commit and results give the same files, in any folder, on a machine with the same
# packages.
# Usage: packaging/make_release.sh [-j JOBS] [FOLDER]
set -euo pipefail
jobs=$(nproc)
if [ "${1-}" = -j ]; then
  jobs=$2
  shift 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(realpath -m "${1:-$root/build/release-files}")
cd "$root"
mkdir -p "$folder"
others=$(find "$folder" -mindepth 1 -maxdepth 1 ! -name 'ashlar[-_]*' ! -name 'libashlar*' ! -name 'SHA256SUMS*')
[ -z "$others" ] || {
  printf 'release: name a folder that is for a release alone; that one has:\n%s\n' "$others" >&2
  exit 1
}
[ -z "$(git status --porcelain)" ] || {
  echo "release: the checkout has changes that are in no commit; commit them, so that the source archive has them" >&2
  exit 1
}
version=$(sed -nE 's/^project\(ashlar VERSION (\S+).*/\1/p' CMakeLists.txt)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022
rm -f "$folder"/*

git archive --prefix="ashlar-$version/" HEAD | gzip -9n >"$folder/ashlar-$version.tar.gz"
if [ -d build/results ]; then
  tar -C build --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c results |
    gzip -9n >"$folder/ashlar-$version-results.tar.gz"
else
  echo "release: without the tables of make bench-full, since there is no build/results" >&2
fi
scripts/zig.py >&2
export ASHLAR_PORT=glibc217
cmake --preset port -DASHLAR_BUILD_TESTS=OFF -DASHLAR_BUILD_TOOLS=OFF >&2
cmake --build build/port-glibc217 --target ashlar_malloc ashlar_malloc_hardened -j "$jobs" >&2
drop_in=ashlar-$version-linux-x86_64
rm -rf "build/$drop_in"
cmake --install build/port-glibc217 --component ashlar_malloc --prefix "$root/build/$drop_in" --strip >&2
cp LICENSE "build/$drop_in"
tar -C build --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$drop_in" |
  gzip -9n >"$folder/$drop_in.tar.gz"
scripts/amalgamate.py "$folder/ashlar_pools.hpp" >&2
packaging/make_packages.sh -j "$jobs" >&2
cp build/packages/*.deb "$folder"
cp "$(packaging/make_wheel.py -j "$jobs")" "$folder"
cp "$(packaging/make_crate.sh)" "$folder"
packaging/make_sbom.py "$folder" "$folder/ashlar-$version.spdx.json"
chmod 644 "$folder"/*
(cd "$folder" && sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
(cd "$folder" && stat -c '%10s %n' -- *)
