#!/usr/bin/env bash
# Writes what a library exports, with the types that this reaches, without places and paths. What the
# hits read is among them, since they are inlined into programs.
# Usage: tests/abi/describe.sh LIBRARY OUT.abi      77: there is no abidw.
set -euo pipefail
command -v abidw >/dev/null && command -v abidiff >/dev/null || {
  echo "abi: no abidw or abidiff (Debian: apt-get install abigail-tools); nothing was compared"
  exit 77
}
abidw --exported-interfaces-only --drop-private-types --drop-undefined-syms --no-corpus-path --no-comp-dir-path \
  --no-show-locs --no-elf-needed --no-architecture --no-write-default-sizes --no-parameter-names \
  --type-id-style hash "$1" | sed -E "s| path='[^']*/| path='|" | awk '  # a member or a function is a line
    { match($0, /^ */); depth = RLENGTH; text = substr($0, depth + 1) }
    is_open { held = held text; if (depth != opened) next; print held; is_open = 0; next }
    text !~ /\/>$|^<\// && text ~ /^<(data-member|member-function|function-decl)/ { held = $0; opened = depth; is_open = 1; next }
    { print }' >"$2"
