#!/usr/bin/env bash
# Counts events of a real program, Debian's lbzip2 with two threads: in the emulated machine of arm64 those of the processor, here those of
# the kernel. docs/counters.md has what it printed.
#
# Usage: tools/count_lbzip2.sh FOLDER
#   FOLDER    gets the recordings, emulated.attune and here.attune, and what attune says of them, emulated.txt and here.txt
#
# Before it: ./dev build, ./dev setup machine, ./dev build --preset arm64. Exit codes: 0 done, 1 failed, 2 usage, 3 unavailable here (as
# tools/machine.sh).
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
attune=$top/build/release/bin/attune
# A text of some MB that every Linux has, so many times.
text_of() {
  # shellcheck disable=SC2016  # it is expanded where it is run
  printf 'for i in $(seq %s); do cat /proc/kallsyms; done > text' "$1"
}
sections='thread-counts profile'

# fail CODE MESSAGE...
fail() {
  local code=$1
  shift
  printf 'count_lbzip2: %s\n' "$*" >&2
  exit "$code"
}

count_emulated() {
  local folder=$1 packages=$top/build/debian/arm64/lbzip2 output=$1/output
  "$top/tools/debian_root.sh" --alone arm64 "$packages" lbzip2 || exit $?
  "$top/tools/machine.sh" --cpus 2 --seconds 900 --add "$packages/usr/bin/lbzip2" arm64 \
    "$(text_of 3); attune run -q --count cycles:u,instructions:u,task-clock -o r.attune -- lbzip2 -n 2 -k text" \
    "NO_COLOR=1 attune report r.attune; NO_COLOR=1 attune report r.attune $sections" "base64 r.attune" >"$output" || fail $? "$(tail -n 5 "$output")"
  awk '/^>>>> /{ part++; next } part == 1' "$output" >"$folder/emulated.txt"
  awk '/^>>>> /{ part++; next } part == 2' "$output" | base64 -d >"$folder/emulated.attune"
  rm "$output"
}

count_here() {
  local folder=$1
  (
    cd "$folder"
    eval "$(text_of 10)"
    "$attune" run -q -f --count task-clock,page-faults,context-switches,cpu-migrations -o here.attune -- lbzip2 -n 2 -k -f text
    rm -f text text.bz2
    export NO_COLOR=1
    # shellcheck disable=SC2086  # several words
    { "$attune" report here.attune && "$attune" report here.attune $sections; } >here.txt
  )
}

main() {
  case ${1:-} in
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && return ;;
  esac
  [[ $# == 1 && $1 != -* ]] || fail 2 "give a folder (see --help)"
  [[ -x $attune ]] || fail 3 "$attune is not there: ./dev build"
  [[ -x $top/build/arm64/bin/attune ]] || fail 3 "attune was not built for arm64: ./dev setup machine && ./dev build --preset arm64"
  command -v lbzip2 >/dev/null || fail 3 "lbzip2 is not there: ./dev setup"
  mkdir -p "$1"
  count_emulated "$1"
  count_here "$1"
}

main "$@"
