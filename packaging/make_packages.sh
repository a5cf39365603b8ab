#!/usr/bin/env bash
# Builds the Debian packages into build/packages, or into FOLDER, and prints each with its size in bytes.
# Usage: packaging/make_packages.sh [-j JOBS] [FOLDER]
set -euo pipefail
jobs=$(nproc)
if [ "${1-}" = -j ]; then
  jobs=$2
  shift 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(realpath -m "${1:-$root/build/packages}")
cd "$root"
# Dates inside the packages are those of the last commit, so that the same sources give the same packages.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH
# The modes of the folders are those of the packages, whoever builds them.
umask 022
cmake --preset packages -B "$folder" >/dev/null
cmake --build "$folder" -j "$jobs"
rm -f "$folder"/{,lib}ashlar*.deb
log=$(mktemp)
trap 'rm -f "$log"' EXIT
(cd "$folder" && cpack --config CPackConfig.cmake -B "$folder" >"$log" 2>&1) || { cat "$log" >&2; exit 1; }
stat -c '%s %n' "$folder"/{,lib}ashlar*.deb
