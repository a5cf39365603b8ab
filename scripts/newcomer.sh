#!/usr/bin/env bash
# A stranger's way from an empty folder to the first result, with the seconds of each step: a clone of the last
# commit, its build, and every command of the page that README names for such a reader.
# Where debootstrap is and the user is root, all of it happens in a fresh Debian 12 (chroot, with a network); else on
# this system, with the packages that it has. Nothing is left behind.
# Usage: scripts/newcomer.sh PATH     with PATH one of: tool container game firmware python leak fault classic
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A pages=(
  [tool]=tutorials/first-measurement [container]=how-to/one-hot-container [game]=how-to/frame-arena
  [firmware]=how-to/bare-metal [python]=how-to/python [leak]=tutorials/find-a-leak
  [fault]=how-to/debug-a-fault-line [classic]=migration/xallocator
)
declare -A target=([container]=library [game]=library [firmware]=library [classic]=library)  # pages that need no command
declare -A packages=(
  [tool]=sqlite3 [firmware]="gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib"
)
page=${pages[${1:-}]:-}
[ -n "$page" ] || {
  echo "usage: scripts/newcomer.sh PATH, with PATH one of: ${!pages[*]}" >&2
  exit 2
}

is_fresh=
command -v debootstrap >/dev/null && [ "$(id -u)" -eq 0 ] && is_fresh=1
# Mounts of its own, which end with it.
if [ -n "$is_fresh" ] && [ -z "${NEWCOMER_MOUNTS:-}" ]; then
  NEWCOMER_MOUNTS=1 exec unshare --mount "$0" "$@"
fi
folder=$(mktemp -d)
root=
trap '[ -z "$root" ] || umount --lazy "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$folder"' EXIT
log=$folder/log.txt
inside=()  # what a command is preceded by

step() {  # NAME COMMAND...
  local name=$1 begin=$EPOCHREALTIME
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "newcomer: '$name' failed: $*" >&2
    exit 1
  }
  awk -v name="$name" -v begin="$begin" -v end="$EPOCHREALTIME" \
    'BEGIN { printf "%-28s %7.1f s\n", name, end - begin }'
}

if [ -n "$is_fresh" ]; then
  root=$folder/root
  mkdir -p "$root/proc" "$root/dev"
  step "a fresh Debian 12" debootstrap --variant=minbase --include=ca-certificates,git,make,python3 bookworm "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  inside=(chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)
else
  echo "newcomer: without debootstrap and root, on this system and its packages"
fi
step "clone" git clone --quiet --no-hardlinks . "$folder/ashlar"
checkout=$folder/ashlar
if [ -n "$root" ]; then
  mv "$folder/ashlar" "$root/ashlar"
  checkout=/ashlar
  [ -z "${packages[$1]:-}" ] ||
    step "the page's packages" "${inside[@]}" sh -c "apt-get update && apt-get install -y ${packages[$1]}"
fi
step "make ${target[$1]:-build}" "${inside[@]}" make -C "$checkout" "${target[$1]:-build}"
# It installs the build into an empty home, and compares what each command prints with the page.
step "docs/$page.md" "${inside[@]}" python3 "$checkout/tests/docs/run_tutorials.py" "$checkout" \
  "$checkout/build/release" "$checkout/docs/$page.md"
