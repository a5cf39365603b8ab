#!/usr/bin/env bash
# Compares a library's binary interface with its record. Ends with 0: as recorded; 77: there is no tool for it.
# Usage: tests/abi/check.sh LIBRARY      its record is NAME.abi here, for a library NAME.so*
set -euo pipefail
here=$(dirname "$0")
library=$(basename "$1")
record=$here/${library%%.so*}.abi
now=$(mktemp)
trap 'rm -f "$now"' EXIT
"$here/describe.sh" "$1" "$now"
# A description of nothing is like any other: programs use some 40 functions of each.
functions=$(grep -o '<function-decl [^>]*elf-symbol-id' "$now" | wc -l)
[ "$functions" -ge 30 ] || {
  echo "abi: $1 describes $functions functions; was it built with -g?" >&2
  exit 1
}
abidiff --no-show-locs "$record" "$now" || {
  cat >&2 <<TEXT
abi: the binary interface is no longer what $(basename "$record") says (above). What is removed or changed breaks programs that
were linked before: undo it, or raise the library's minor version (CMakeLists.txt) and renew the record. What is only added
breaks none: renew the record. To renew: tests/abi/record.sh
TEXT
  exit 1
}
echo "abi: $functions functions as recorded"
