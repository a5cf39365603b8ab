#!/usr/bin/env bash
# Compiles every public header alone: an empty source file that includes it and nothing else.
# Usage: check_headers.sh ROOT COMPILER FLAGS...
# All headers of the layers and the umbrella headers are public; the classic ones are included by their bare
# names, with the one directory that they promise to need.
set -euo pipefail
root=$1
shift
cd "$root"

status=0
checked=0
check() { # check HEADER FLAGS...
  local header=$1
  shift
  checked=$((checked + 1))
  if ! output=$("${compile[@]}" "$@" -fsyntax-only -include "$header" /dev/null 2>&1); then
    echo "$header does not compile alone: ${compile[*]} $*"
    echo "$output" | head -n 20
    status=1
  fi
}

compile=("$@" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror -x c++)
for header in ashlar/*.hpp ashlar/*.h ashlar/{core,pool,arena,heap,os,runtime,adapt}/*.{hpp,h}; do
  [ -e "$header" ] && check "$header" -I.
done
for header in ashlar/compat/*.{h,hpp}; do
  [ -e "$header" ] && check "$(basename "$header")" -Iashlar/compat
done
[ "$checked" -gt 90 ] || { echo "only $checked headers were found under $root: the check proves little"; status=1; }
echo "$checked headers"
exit "$status"
