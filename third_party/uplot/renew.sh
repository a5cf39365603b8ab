#!/usr/bin/env bash
# Fetches the package of uPlot, of this version and hash only, and replaces the three files of it that are kept here.
# Usage: third_party/uplot/renew.sh [--check]      --check: replaces nothing; ends with 1 where a file differs.
set -euo pipefail
cd "$(dirname "$0")"

version=1.6.32
integrity=sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==
files=(LICENSE dist/uPlot.iife.min.js dist/uPlot.min.css)

case "${1-}" in
  "" | --check) ;;
  *) echo "renew: unknown option '$1' (there is --check)" >&2; exit 2 ;;
esac
command -v npm >/dev/null || {
  echo "renew: no npm; scripts/setup.sh uplot installs it" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack --silent --pack-destination "$work" "uplot@$version" >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  echo "renew: npm could not fetch uplot@$version" >&2
  exit 1
}
package=$work/uplot-$version.tgz
have=sha512-$(openssl dgst -sha512 -binary "$package" | base64 -w0)
[ "$have" = "$integrity" ] || {
  echo "renew: uplot@$version is not the package that was reviewed: its hash is $have, not $integrity" >&2
  exit 1
}
tar -xzf "$package" -C "$work"
for file in "${files[@]}"; do
  name=${file##*/}
  if [ "${1-}" = --check ]; then
    cmp "$work/package/$file" "$name" || exit 1
  else
    install -m 644 "$work/package/$file" "$name"
  fi
done
echo "renew: uPlot $version, hash right"
