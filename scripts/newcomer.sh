#!/usr/bin/env bash
# A stranger's way from an empty folder to the first result, with the seconds of each step: a clone of the last
# commit, its build, and every command of the page that README names for such a reader.
# Where debootstrap is and the user is root, all of it happens in a fresh Debian 12 (chroot, with a network); else on
# this system, with the packages that it has. Nothing is left behind.
# Several paths share the system, the clone and what is built.
# Usage: scripts/newcomer.sh PATH...     of: tool container game firmware python rust leak fault classic
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A pages=(
  [tool]=tutorials/first-measurement [container]=how-to/one-hot-container [game]=how-to/frame-arena
  [firmware]=how-to/bare-metal [python]=how-to/python [rust]=how-to/rust [leak]=tutorials/find-a-leak
  [fault]=how-to/debug-a-fault-line [classic]=migration/xallocator
)
# Pages that need no command.
declare -A target=([container]=library [game]=library [firmware]=library [classic]=library [rust]=crate)
declare -A packages=(
  [tool]=sqlite3 [rust]=g++ [firmware]="gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib"
)
[ $# -gt 0 ] || set -- none
for path in "$@"; do
  [ -n "${pages[$path]:-}" ] || {
    echo "usage: scripts/newcomer.sh PATH..., of: ${!pages[*]}" >&2
    exit 2
  }
done

is_fresh=
command -v debootstrap >/dev/null && [ "$(id -u)" -eq 0 ] && is_fresh=1
# Mounts of its own, which end with it.
if [ -n "$is_fresh" ] && [ -z "${NEWCOMER_MOUNTS:-}" ]; then
  NEWCOMER_MOUNTS=1 exec unshare --mount scripts/newcomer.sh "$@"
fi
folder=$(mktemp -d)
root=
trap '[ -z "$root" ] || umount --lazy "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$folder"' EXIT
log=$folder/log.txt
inside=()  # what a command is preceded by

step() {  # NAME COMMAND...
  local name=$1 TIMEFORMAT='%R %U %S'
  shift
  { time "$@" >"$log" 2>&1; } 2>"$folder/times" || {
    tail -n 20 "$log" >&2
    echo "newcomer: '$name' failed: $*" >&2
    exit 1
  }
  awk -v name="$name" '{ printf "%-34s %7.1f s, of a processor %7.1f s\n", name, $1, $2 + $3 }' "$folder/times"
}

if [ -n "$is_fresh" ]; then
  root=$folder/root
  mkdir -p "$root/proc" "$root/dev"
  step "a fresh Debian 12" debootstrap --variant=minbase --include=ca-certificates,git,make,python3 bookworm "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  inside=(chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)
  # A network that inspects what is encrypted has a certificate of its own, and what this system trusts is trusted there.
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    step "its certificates" "${inside[@]}" update-ca-certificates
  fi
else
  echo "newcomer: without debootstrap and root, on this system and its packages"
fi
step "clone" git clone --quiet --no-hardlinks . "$folder/ashlar"
checkout=$folder/ashlar
if [ -n "$root" ]; then
  mv "$folder/ashlar" "$root/ashlar"
  checkout=/ashlar
fi
for path in "$@"; do
  [ -z "$root" ] || [ -z "${packages[$path]:-}" ] ||
    step "$path: packages" "${inside[@]}" sh -c "apt-get update && apt-get install -y ${packages[$path]}"
  step "$path: make ${target[$path]:-build}" "${inside[@]}" make -C "$checkout" "${target[$path]:-build}"
  if [ "$path" = rust ]; then  # its page has no session: the tests follow it (tests/packages/crate_test.py)
    step "docs/${pages[$path]}.md" "${inside[@]}" sh -ec 'cargo new --quiet "$2/app" && cd "$2/app" && mkdir ashlar
      tar -xf "$1"/build/crate/ashlar-*.crate -C ashlar --strip-components=1
      cargo add --quiet ashlar --path ashlar
      echo "#[global_allocator] static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;" >>src/main.rs
      cargo run --quiet' sh "$checkout" "$(dirname "$checkout")"
    continue
  fi
  # It installs the build into an empty home, and compares what each command prints with the page.
  step "docs/${pages[$path]}.md" "${inside[@]}" python3 "$checkout/tests/docs/run_tutorials.py" "$checkout" \
    "$checkout/build/release" "$checkout/docs/${pages[$path]}.md"
done
