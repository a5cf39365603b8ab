#!/usr/bin/env bash
# Formatting, and clang-tidy over every shipped source.
# Usage: scripts/lint.sh [--format | --analyze]
# --format: formatting alone, and that the tree has no symbolic links. --analyze: with what takes longest, too: clang's
# analyzer, five times as long as all the rest, bugprone-unchecked-optional-access, half as long, and four that take a
# third together.
# Without it, the sources of each target are looked at together first, as CMake's unity build puts them: most of the time
# goes into the standard's headers. What does not pass so is looked at file by file, and that decides.
set -euo pipefail
cd "$(dirname "$0")/.."

analyze=false
[ "${1-}" != --analyze ] || analyze=true
mapfile -t sources < <(git ls-files '*.hpp' '*.h' '*.cpp' '*.c')
[ "${#sources[@]}" -gt 0 ] || { echo "lint: git lists no source, so nothing was checked" >&2; exit 1; }
clang-format-19 --dry-run --Werror "${sources[@]}" || {
  echo "lint: run 'make format'" >&2
  exit 1
}
echo "lint: ${#sources[@]} files formatted"
long=$(git grep -nE '^.{101}' -- 'ashlar/*.hpp' 'ashlar/*.h' 'ashlar/*.cpp' || true)
[ -z "$long" ] || {
  echo "lint: longer than 100 columns:" "$long" >&2
  exit 1
}
# A zip file and a checkout on Windows make files of them, which hold a path.
links=$(git ls-files -s | sed -n 's/^120000 [^\t]*\t//p')
[ -z "$links" ] || {
  echo "lint: symbolic links in the tree: $links" >&2
  exit 1
}
# RISC-V exchanges words only. For a byte gcc calls libatomic, which the library does not link (core/byte_exchange.hpp).
library=('ashlar/*.hpp' 'ashlar/*.cpp' ':!*_test.cpp')
bytes=$(git grep -hoE 'std::atomic<bool> \w+' -- "${library[@]}" | sed 's/.* //' | sort -u | paste -sd '|')
exchanges=$(git grep -nE "\\b($bytes)\.(exchange|compare_exchange_\w+)\(" -- "${library[@]}" || true)
[ -z "$exchanges" ] || {
  echo "lint: atomic<bool> is exchanged; use atomic<detail::exchangeable<bool>>:" "$exchanges" >&2
  exit 1
}
[ "${1-}" != --format ] || exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
configure() { # configure FOLDER [CMAKE_ARGUMENT...]
  cmake --preset clang -B "$1" -DASHLAR_BUILD_TOOLS=ON -DASHLAR_BUILD_TESTS=OFF "${@:2}" >"$log" || { cat "$log"; exit 1; }
}
tidy() { # tidy FOLDER FILES_EACH OPTION..., the files one a line from standard input
  xargs -r -P "$(nproc)" -n "$2" clang-tidy-19 -p "$1" --quiet "${@:3}" >"$log" 2>&1
}

mapfile -t units < <(git ls-files 'ashlar/*.cpp' 'tools/*.cpp' | grep -vE '_(test|windows|macos|freebsd|bsd|wasi|none)\.cpp$' |
  grep -vE '/(bell|mutex|parking|pause|random_bytes)_posix\.cpp$')
open=("${units[@]}")
options=()
if ! $analyze; then
  left_out='--checks=-clang-analyzer-*,-bugprone-unchecked-optional-access,-performance-unnecessary-value-param'
  left_out+=',-bugprone-standalone-empty,-bugprone-stringview-nullptr,-readability-redundant-inline-specifier'
  options=("$left_out")
  together=build/lint-together
  rm -rf $together/ashlar $together/tools
  configure $together -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0
  # Two groups have nearly all of the tools, which share their libraries' headers: the command with the agent, and the
  # rest. What they define besides does not hurt the others. The drop-in library has the sources of the other one; its own
  # stay for below.
  group() { # group LIBRARY: its sources, if it is built
    find $together/tools -path "*/ashlar_$1.dir/Unity/unity_0_cxx.cxx"
  }
  join() { # join GROUP OTHER...: the sources of the others, as far as they are built, are looked at with those of the first
    local other
    for other in "${@:2}"; do
      [ ! -f "$1" ] || [ ! -f "$other" ] || { grep '^#include' "$other" >>"$1" && rm "$other"; }
    done
  }
  rm -f "$(group compare)" "$(group static)"  # of sources that others have
  mapfile -t defines < <(sed -n "s| -c [^ ]*/tools/.*||p" $together/compile_commands.json | grep -v compare_alone | grep -oE -- ' -D[^ ]+' |
    sort -u | xargs -n1 | xargs -n1)
  join "$(group cli_parts)" "$(group cli)" "$(group agent)"
  join "$(group trace)" $(for room in files sites profile tune verify findings report measure image inspect attach control; do
    group $room
  done)
  mapfile -t groups < <(grep -rl --include='unity_*.cxx' '^#include' $together | grep -v /ashlar_malloc_objects.dir/ |
    xargs ls -S)
  # Two warnings are about the groups themselves: of an included source file, and of names that two files both have.
  if printf '%s\n' "${groups[@]}" |
    tidy $together 1 "$left_out,-bugprone-suspicious-include" --extra-arg=-Wno-shadow "${defines[@]/#/--extra-arg=}"; then
    grouped=$(sed -n "s|^#include \"$PWD/\(.*\)\"|\1|p" "${groups[@]}")
    mapfile -t open < <(printf '%s\n' "${units[@]}" | grep -vxF "$grouped")
    echo "lint: $((${#units[@]} - ${#open[@]})) units passed clang-tidy in ${#groups[@]} groups"
  else
    echo "lint: the groups do not pass; file by file"
  fi
fi
configure build/lint
printf '%s\n' "${open[@]}" | tidy build/lint 2 "${options[@]}" || {
  cat "$log"
  exit 1
}
echo "lint: ${#units[@]} units passed clang-tidy"
