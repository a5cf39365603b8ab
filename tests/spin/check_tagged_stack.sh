#!/usr/bin/env bash
# Requires of Spin that the tagged free list is right, and that without a tag, or with one that wraps, it is not: and
# that what is wrong then is ABA, by the trail. So a model that had lost its teeth would be seen.
# Usage: check_tagged_stack.sh MODEL.pml        in a directory that may be written to
set -euo pipefail
model=$(realpath "$1")
name=$(basename "$model")
work=$(mktemp -d spin.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"

# verify TAG_VALUES THREADS OPERATIONS [PAN_OPTION...]: leaves what pan said in pan.out
verify() {
  parameters=(-DTAG_VALUES="$1" -DTHREADS="$2" -DOPERATIONS="$3")
  shift 3
  rm -f pan pan.out "$name.trail"
  spin "${parameters[@]}" -a "$model" >spin.out || { cat spin.out >&2; exit 1; }
  gcc -O1 -w -DSAFETY -DCOLLAPSE "$@" -o pan pan.c
  ./pan -m100000 >pan.out 2>&1 || true
  echo "${parameters[*]}: $(grep -oE 'errors: [0-9]+' pan.out), $(grep -oE '[0-9]+ states, stored' pan.out)"
}

# All states, and none wrong.
holds() {
  verify "$@"
  if ! grep -q 'errors: 0' pan.out || grep -qE 'Search not completed|max search depth too small' pan.out; then
    cat pan.out >&2
    echo "spin: the tagged stack was not verified (${parameters[*]})" >&2
    exit 1
  fi
}

# Breadth first, so that the trail is a shortest one. A block got a second holder, since somebody changed the head
# from what it had seen although others had changed it in between.
fails_by_aba() {
  verify "$@" -DBFS
  if ! grep -q 'assertion violated (holder\[b\]==255)' pan.out; then
    cat pan.out >&2
    echo "spin: no block with two holders was found (${parameters[*]}): the model has lost its teeth" >&2
    exit 1
  fi
  spin "${parameters[@]}" -t -k "$name.trail" "$model" | grep -oE 'thread [0-9] (sees|changes) .*' >trail
  awk '
    $3 == "sees" { seen[$2] = $4; others[$2] = 0 }
    $3 == "changes" {
      if (others[$2] > 0 && seen[$2] == $4) aba = 1
      for (t in others) if (t != $2) ++others[t]
    }
    END { exit !aba }' trail || {
    cat trail >&2
    echo "spin: the trail is not ABA (${parameters[*]})" >&2
    exit 1
  }
  sed 's/^/    /' trail
}

holds 256 2 5
holds 256 3 2
fails_by_aba 1 2 3
fails_by_aba 2 2 4
