#!/usr/bin/env bash
# Compiles every public header alone: an empty source file that includes it and nothing else.
# With --together: all of them in one file, --backwards: the last one first. What a header forgot to include is seen alone;
# what another compiler or language level says of its text together, in a twentieth of the time.
# Usage: check_headers.sh [--together|--backwards] ROOT COMPILER FLAGS...
# The headers of the layers and the umbrella headers are included by their full names, the classic ones
# (compat/*.h) by their bare names, with the two directories that they promise to need.
set -euo pipefail
together=
if [[ $1 = --together || $1 = --backwards ]]; then
  together=$1
  shift
fi
root=$1
shift
cd "$root"

status=0
compile() { # compile WHAT FLAGS... : WHAT is what a message calls it
  local what=$1
  shift
  if ! output=$("${compiler[@]}" "$@" -fsyntax-only -x c++ /dev/null 2>&1); then
    echo "$what: error with ${compiler[*]}"
    echo "$output" | head -n 20
    status=1
  fi
}
include() { printf -- '-include\n%s\n' "$@"; }

compiler=("$@" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror)
headers=(ashlar/*.hpp ashlar/*.h ashlar/compat/*.hpp)
for layer in $(sed -nE 's|^(ashlar/[a-z]+):.*|\1|p' cmake/layers.txt | grep -v /compat); do
  for header in "$layer"/*.{hpp,h}; do
    [ -e "$header" ] && headers+=("$header")
  done
done
classic=()
for header in ashlar/compat/*.h; do
  classic+=("$(basename "$header")")
done
checked=$((${#headers[@]} + ${#classic[@]}))
[ "$checked" -gt 90 ] || { echo "only $checked headers were found under $root: the check proves little"; status=1; }

if [ -n "$together" ]; then
  mapfile -t headers < <(printf '%s\n' "${headers[@]}" | if [ "$together" = --backwards ]; then tac; else cat; fi)
  mapfile -t x < <(include "${headers[@]}")
  compile "all headers, $together" -I. "${x[@]}"
  # Two of the documents call their class `Allocator`, and each mode of xmalloc defines it: they are met one at a time.
  alone='^(Allocator|memory_pool_allocator|alloc_with_pool|xallocator.*)\.h$'
  mapfile -t x < <(printf '%s\n' "${classic[@]}" | grep -vE "$alone")
  mapfile -t x < <(include "${x[@]}")
  compile "the classic headers" -I. -Iashlar/compat "${x[@]}"
  mapfile -t classic < <(printf '%s\n' "${classic[@]}" | grep -E "$alone")
  headers=()
fi
for header in "${headers[@]}"; do compile "$header alone" -I. -include "$header"; done
for header in "${classic[@]}"; do compile "$header alone" -I. -Iashlar/compat -include "$header"; done
echo "$checked headers"
exit "$status"
