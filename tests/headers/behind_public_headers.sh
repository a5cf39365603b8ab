#!/usr/bin/env bash
# A program compiles the heap's hits and nothing else of the heap: no public header includes another
# header of the heap, or one of the checks. Behind allocator.hpp are few lines of ours, comments left out.
# Usage: behind_public_headers.sh ROOT COMPILER
set -euo pipefail
root=$(cd "$1" && pwd)
compiler=$2
lines_max=1300
seen='^ashlar/(pages/(block_sign|block_tables|run)|heap/(class_table|hit_path)|instance/(heap|heap_body)|runtime/(hit_path|process_classes))\.hpp$'

behind() { # behind HEADER: our headers that it includes, at any depth, and itself, relative to ROOT
  "$compiler" -std=c++20 -I "$root" -I "$root/ashlar/compat" -MM -x c++ -include "$root/$1" /dev/null |
    tr -d '\\' | tr ' ' '\n' | sed -n "s|^$root/\(ashlar/.*\)|\1|p" | sort -u
}

cd "$root"
status=0
for header in ashlar/ashlar.h ashlar/ashlar.hpp ashlar/freestanding.hpp ashlar/adapt/asan_report.hpp ashlar/adapt/new_delete.hpp \
  ashlar/adapt/tags.h ashlar/adapt/test_scope.h ashlar/adapt/test_scope.hpp ashlar/compat/*.h; do
  headers=$(behind "$header")
  inner=$(grep -E '^ashlar/(pages|heap|fault|check|runtime|instance)/' <<<"$headers" | grep -vE "$seen" || true)
  if [ -n "$inner" ]; then
    echo "$header: behind it are $(wc -l <<<"$inner") of the heap's own headers, as $(head -n 1 <<<"$inner")"
    status=1
  fi
done

mapfile -t headers < <(behind ashlar/adapt/allocator.hpp)
lines=$(cat "${headers[@]}" | grep -cvE '^\s*(//|$)')
echo "ashlar/adapt/allocator.hpp: ${#headers[@]} headers, $lines lines of code; at most $lines_max are allowed"
[ "$lines" -gt 0 ] && [ "$lines" -le "$lines_max" ] || status=1
exit "$status"
