#!/usr/bin/env bash
# Tests of ./dev itself: usage errors, and that a failed step is counted, shown and makes the whole fail.
# Usage: dev_test.sh SOURCE
set -euo pipefail

source_folder=$1
cd "$source_folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'dev_test: %s\n' "$*" >&2
  exit 1
}

# expect CODE WORDS COMMAND...: the exit code, and words of the output.
expect() {
  local wanted=$1 words=$2 code=0
  shift 2
  "$@" >"$work/output" 2>&1 || code=$?
  ((code == wanted)) || fail "$*: exit code $code, not $wanted: $(cat "$work/output")"
  grep -qF -- "$words" "$work/output" || fail "$*: '$words' is not in: $(cat "$work/output")"
}

export ATTUNE_NO_SETUP=1
expect 0 "Usage: ./dev COMMAND" ./dev
expect 0 "Usage: ./dev COMMAND" ./dev --help
expect 2 "there is no command 'biuld'" ./dev biuld
expect 2 "there is no group 'tset'" ./dev setup tset
expect 2 "there is no preset 'fast'" ./dev build --preset fast
expect 2 "--preset needs a name" ./dev build --preset
expect 2 "test does not know '--fast'" ./dev test --fast
expect 2 "demo has no options" ./dev demo now
[[ -z $(./dev setup 2>&1) ]] || fail "ATTUNE_NO_SETUP does not leave the machine alone"

# A machine without apt.
mkdir "$work/bin"
for tool in bash dirname nproc sed awk env; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
expect 1 "this machine has no apt" env -u ATTUNE_NO_SETUP PATH="$work/bin" ./dev setup

# An ordinary user without sudo, on a machine that lacks a package.
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/apt-get"
chmod +x "$work/bin/dpkg-query" "$work/bin/apt-get"
if [[ $EUID == 0 ]]; then as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups); else as_user=(); fi
# Of a copy, because a clone in root's home is closed to others.
mkdir "$work/tree"
cp -r dev tools "$work/tree/"
chmod -R a+rX "$work"
expect 1 "hint: as root: apt-get install" "${as_user[@]}" "$(command -v env)" -u ATTUNE_NO_SETUP PATH="$work/bin" "$work/tree/dev" setup

# Every package has one group and one line.
sed -e 's/#.*//' tools/packages.txt | awk 'NF && !/^\[/ { print $1 }' | sort | uniq -d >"$work/twice"
[[ ! -s $work/twice ]] || fail "twice in tools/packages.txt: $(cat "$work/twice")"

# Steps are counted, also those that fail inside the lints.
count() {
  bash -euo pipefail -c '
    top=$PWD
    source tools/dev/lib.sh
    source tools/dev/lint.sh
    source tools/dev/test.sh
    logs=$1
    lint_format() { false; }
    lint_rules() { true; }
    lint_shell() { echo the reason; false; }
    lint_tidy() { [[ $1 == changed ]]; }
    run_lints check changed || true
    check "one more" true
    printf "%s\n" "${summary[@]}"
    finish_tests
  ' count "$work/logs"
}
expect 1 "3 passed, 2 failed" count
expect 1 "the reason" count
[[ $(tail -n 1 "$work/output") == "3 passed, 2 failed" ]] || fail "the count is not the last line"
