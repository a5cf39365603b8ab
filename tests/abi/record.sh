#!/usr/bin/env bash
# Writes the record of both libraries' binary interface anew, from preset release (gcc).
# Usage: tests/abi/record.sh      then: git diff tests/abi
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset release >/dev/null
cmake --build --preset release --target ashlar_shared_described --target ashlar_malloc_described >/dev/null
for name in libashlar libashlar-malloc; do
  tests/abi/describe.sh "build/release/tests/abi/$name.so" "tests/abi/$name.abi"
done
git diff --stat -- tests/abi
