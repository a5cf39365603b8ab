#!/usr/bin/env bash
# Formatting, and clang-tidy over every shipped source.
# Usage: scripts/lint.sh [--analyze]      with clang's analyzer too, which takes five times as long as all the rest.
set -euo pipefail
cd "$(dirname "$0")/.."

left_out=(--checks=-clang-analyzer-*)
[ "${1-}" != --analyze ] || left_out=()
mapfile -t sources < <(git ls-files '*.hpp' '*.h' '*.cpp' '*.c')
[ "${#sources[@]}" -gt 0 ] || { echo "lint: git lists no source, so nothing was checked" >&2; exit 1; }
clang-format-19 --dry-run --Werror "${sources[@]}" || {
  echo "lint: run 'make format'" >&2
  exit 1
}
echo "lint: ${#sources[@]} files formatted"

cmake --preset clang -B build/lint -DASHLAR_BUILD_TOOLS=ON -DASHLAR_BUILD_TESTS=OFF >/dev/null
mapfile -t units < <(git ls-files 'ashlar/*.cpp' 'tools/*.cpp' | grep -vE '_(test|bench)\.cpp$')
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/lint --quiet "${left_out[@]}" 2>/tmp/ashlar-tidy-$$.log || {
  cat "/tmp/ashlar-tidy-$$.log"
  exit 1
}
rm -f "/tmp/ashlar-tidy-$$.log"
echo "lint: ${#units[@]} units passed clang-tidy"
