#!/usr/bin/env bash
# Installs the Debian packages that are missing for the given purposes, and tells which.
# Usage: scripts/setup.sh PURPOSE...   with PURPOSE one of: build test demo programs bench peers cargo chart docs site
# packages wheel coverage ports torture bare-metal browser shells recording uplot fleet
set -euo pipefail

declare -A packages=(
  [build]="g++ cmake ninja-build pkg-config libcli11-dev libfmt-dev nlohmann-json3-dev libzstd-dev libssl-dev libdw-dev libcpp-httplib-dev"
  [test]="libgtest-dev catch2 doctest-dev abigail-tools libbenchmark-dev clang-19 lld-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev libc++-19-dev libc++abi-19-dev clang-14 libstdc++-12-dev-arm64-cross valgrind gdb python3 sqlite3 git perl redis-server redis-tools prometheus libpython3.11-testsuite php-cli libboost-dev libfoonathan-memory-dev libjemalloc-dev libmimalloc-dev libgoogle-perftools-dev libdebuginfod1"
  [demo]="python3 sqlite3"
  [programs]="python3 g++ sqlite3 redis-server redis-tools git perl lua5.4 ruby ghostscript z3"
  [bench]="libbenchmark-dev libcapstone-dev python3 valgrind strace time libjemalloc2 libtcmalloc-minimal4 libtbbmalloc2 libclang-rt-19-dev libboost-dev libfoonathan-memory-dev"
  [peers]="g++ cmake ninja-build"
  [cargo]="cargo-web"  # of any origin will do; Debian's package of that name is older than the registry's protocol
  [chart]="python3 python3-matplotlib"
  [docs]="doxygen python3"
  [site]="python3 python3-venv"  # MkDocs itself comes from PyPI, into a folder of build/ (scripts/site.py)
  [packages]="dpkg-dev file gzip lintian"
  [wheel]="python3 python3-venv binutils libelf-dev liblzma-dev libbz2-dev zlib1g-dev"  # static libraries
  [coverage]="gcovr python3"  # gcov is g++'s own
  [bare-metal]="gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm qemu-system-misc gcc-riscv64-unknown-elf"  # 0.5 GB to fetch, 2.8 GB installed
  [ports]="g++-12-multilib g++-aarch64-linux-gnu g++-arm-linux-gnueabihf g++-riscv64-linux-gnu g++-s390x-linux-gnu qemu-user-static googletest musl nodejs wasi-libc libclang-rt-19-dev-wasm32 wine64 python3 python3-venv"  # not gcc-multilib: it goes with no cross compiler
  [torture]="python3 libpython3.11-testsuite git perl sqlite3 redis-server redis-tools g++ clang-19"
  [browser]="chromium fonts-dejavu-core"  # what looks at the page of `ashlar report`: 180 MB to fetch, 650 MB installed
  [shells]="bash zsh fish man-db"  # what tries the completion of command lines, and looks at the manual pages
  [recording]="python3 g++ valgrind heaptrack"  # bench/recording
  [uplot]="npm openssl"  # for third_party/uplot/renew.sh only
  [fleet]="python3-distributed"  # examples/fleet on Dask; setpriv is in util-linux, which every Debian has
)

missing=()
for purpose in "$@"; do
  [ -n "${packages[$purpose]:-}" ] || {
    echo "setup: unknown purpose '$purpose' (one of: ${!packages[*]})" >&2
    exit 2
  }
  for package in ${packages[$purpose]}; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
done
# Another system's CMake, or one that stands before it in PATH.
check_cmake() {
  local version
  version=$({ cmake --version 2>/dev/null || true; } | sed -n '1s/[^0-9]*//p')
  [ -z "$version" ] || printf '%s\n' 3.25 "$version" | sort -CV || {
    echo "setup: $(command -v cmake) is of version $version, and 3.25 is needed. A newer one: pip install cmake" >&2
    exit 1
  }
}
[ "${#missing[@]}" -gt 0 ] || { check_cmake && exit; }

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
command -v apt-get >/dev/null || {
  echo "setup: there is no apt-get here. Install what Debian calls ${missing[*]}, and build without make" \
    "(packaging/README.md: another Linux)" >&2
  exit 1
}
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: need root to install them; run: apt-get install ${missing[*]}" >&2
    exit 1
  }
  sudo=sudo
fi
echo "setup: installing ${#missing[@]} packages and what they need, and starting none of their services: ${missing[*]}"
log=$(mktemp)
# Debian starts and enables what is a service. Whoever builds ashlar wants the programs alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
  $sudo chmod 755 "$policy"
  trap '$sudo rm -f "$policy"' EXIT
fi
if ! { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  echo "setup: apt-get could not install them (all it said: $log); mend that, and run the same again:" \
    "$(grep -m 1 -E '^(E|W|Err)[: ]' "$log" || tail -n 1 "$log")" >&2
  exit 1
fi
rm -f "$log"
for unit in redis-server.service:redis-server prometheus.service:prometheus phpsessionclean.timer:php-cli; do
  ! command -v systemctl >/dev/null || ! printf '%s\n' "${missing[@]}" | grep -qx "${unit#*:}" ||
    $sudo systemctl --no-reload disable "${unit%:*}" >/dev/null 2>&1 || true
done
check_cmake
