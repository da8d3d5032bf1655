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
expect 2 "--beside needs a command" ./dev test --beside
expect 1 "'no-such-load --cpu 2' does not run" ./dev test --beside "no-such-load --cpu 2"
expect 2 "demo has no options" ./dev demo now
expect 2 "--prefix needs a folder" ./dev install --prefix
expect 2 "install and uninstall do not know '--to'" ./dev install --to /opt
expect 1 "nothing of attune is installed below $work" ./dev uninstall --prefix "$work"
expect 2 "package has no options" ./dev package --rpm
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
    lint_single_source() { true; }
    lint_shell() { echo the reason; false; }
    lint_tidy() { [[ $1 == changed ]]; }
    run_lints check changed || true
    check "one more" true
    printf "%s\n" "${summary[@]}"
    finish_tests
  ' count "$work/logs"
}
expect 1 "4 passed, 2 failed" count
expect 1 "the reason" count
[[ $(tail -n 1 "$work/output") == "4 passed, 2 failed" ]] || fail "the count is not the last line"

# What was left out is listed with its reason; what a busy machine did not let be measured, in a place of its own.
cat >"$work/tests.log" <<'LOG'
1/4 Testing: sampler_test
[ RUN      ] Sampler.Measured
cpu_sampler_test.cpp:12: Skipped
could not be measured: the host took 30 ms

[  SKIPPED ] Sampler.Measured (3 ms)
[ RUN      ] Sampler.WithPriority
sampler_test.cpp:166: Skipped
SCHED_FIFO needs CAP_SYS_NICE

[  SKIPPED ] Sampler.WithPriority (0 ms)
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Sampler.Measured
2/4 Testing: web_looks
skipped: no Chromium (apt install chromium, or set CHROMIUM to its path)
3/4 Testing: e2e_waits_measured
test_blame (__main__.Waits.test_blame) ... skipped 'could not be measured: others had 63% of the CPUs'
skipped: Waits.test_blame (could not be measured: others had 63% of the CPUs)
LOG
listed() {
  bash -euo pipefail -c '
    top=$PWD
    source tools/dev/lib.sh
    source tools/dev/test.sh
    note_skipped tests "$1"
    printf "%s\n" "${summary[@]}"
    finish_tests
  ' listed "$work/tests.log"
}
expect 0 "0 passed, 0 failed" listed
diff - "$work/output" <<'TEXT' || fail "what was left out is not listed as it should be"
    not run here: sampler_test: Sampler.WithPriority (SCHED_FIFO needs CAP_SYS_NICE)
    not run here: web_looks: no Chromium (apt install chromium, or set CHROMIUM to its path)
Could not be measured:
  tests: e2e_waits_measured: Waits.test_blame (others had 63% of the CPUs)
  tests: sampler_test: Sampler.Measured (the host took 30 ms)
0 passed, 0 failed
TEXT
