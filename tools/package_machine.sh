#!/usr/bin/env bash
# Proves that the Debian packages work where nothing of the build is: they are built by an ordinary user on one bare Debian 12,
# and on another one installed, used by an ordinary user and by sudo, and removed without a trace.
#
# Usage: tools/package_machine.sh [OPTIONS] FOLDER
#   OPTIONS   --mirror, --ca, --env and --ccache of tools/bare_machine.sh; FOLDER is its folder, too
#
# Example: sudo tools/package_machine.sh /var/tmp/bare
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
user=ann

fail() {
  printf 'package_machine: %s\n' "$*" >&2
  exit 1
}

# expect WORDS COMMAND...: succeeds, and says WORDS.
expect() {
  local words=$1 output
  shift
  output=$("$@" 2>&1) || fail "$*: exit code $?: $output"
  grep -qF -- "$words" <<<"$output" || fail "$*: '$words' is not in: $output"
  printf 'ok  %s\n' "$*"
}

as_user() { runuser -u "$user" -- env -C "/home/$user" HOME="/home/$user" USER="$user" "$@"; }

# Everything on this machine but what every installation of packages leaves: the package system's own files, logs and caches,
# and what users made themselves.
all_files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /home -o -path /root -o -path /tmp \
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \) -prune -o -print | sort
}

compressed_manuals() {
  local page count=0
  for page in $(dpkg -L attune | grep '/man1/.'); do
    [[ $page == *.1.gz ]] || fail "$page is not compressed"
    count=$((count + 1))
  done
  ((count > 10)) || fail "only $count manual pages"
  printf 'ok  %d manual pages\n' "$count"
}

# What bash offers for a beginning of a command line.
bash_offers() {
  # shellcheck disable=SC2016  # the inner shell's own parameters
  as_user bash -c 'source /usr/share/bash-completion/bash_completion; _completion_loader attune || [[ $? == 124 ]]
    COMP_WORDS=(attune "$1"); COMP_CWORD=1; COMP_LINE="attune $1"; COMP_POINT=${#COMP_LINE}
    function=$(complete -p attune | sed -E "s/.*-F ([^ ]+).*/\1/"); "$function" attune "$1" attune; echo "${COMPREPLY[@]}"' bash "$1"
}

# use_packages FOLDER: on the second machine, as root.
use_packages() {
  local packages=$1 before after
  export DEBIAN_FRONTEND=noninteractive
  before=$(mktemp) after=$(mktemp)
  apt-get -q update >/dev/null
  # What a user's machine has besides, and Debian's bare one has not.
  apt-get -q install -y --no-install-recommends man-db bash-completion procps ca-certificates >/dev/null
  ! command -v g++ >/dev/null || fail "this machine has a compiler: it proves nothing"
  all_files >"$before"

  apt-get -q install -y "$packages"/*.deb
  dpkg --verify attune libattune-probe0 libattune-counters0 attune-sink-influxdb libattune-dev attune-doc
  expect "attune 0." as_user attune --version
  expect "exit code 0" as_user attune run -o mine.attune -- sha256sum /usr/bin/attune
  expect "sha256sum /usr/bin/attune" as_user attune report mine.attune
  expect "sha256sum /usr/bin/attune" as_user attune query mine.attune "select command from processes"
  expect "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libattune_probe.so.0" as_user attune run --quiet -o locks.attune -- env
  expect "influxdb" as_user attune list sinks
  expect "numaconnect2" as_user attune list sensors
  expect "attune-run" as_user man --pager=cat attune-run
  compressed_manuals
  expect "report" bash_offers rep
  # Exit code 3: something is missing here, which a bare machine may well be.
  expect "sensor vmstat" as_user sh -c 'attune doctor || test $? = 3'
  expect "exit code 0" as_user sudo attune run -o root.attune -- sleep 0.1
  expect "sleep 0.1" as_user sudo attune report root.attune

  apt-get -q purge -y attune libattune-probe0 libattune-counters0 attune-sink-influxdb libattune-dev attune-doc >/dev/null
  # Not kept because packages of the bare machine would rather have them.
  apt-get -q autoremove -y --purge -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false >/dev/null
  all_files >"$after"
  diff "$before" "$after" || fail "purging the packages leaves, or takes, what is shown above"
  printf 'ok  purged without a trace: %d files before and after\n' "$(wc -l <"$after")"
}

if [[ ${1:-} == inside ]]; then
  use_packages "$2"
  exit
fi
options=()
while [[ ${1:-} == -* ]]; do
  case $1 in
    --mirror | --ca | --env | --ccache) options+=("$1" "${2:?}") && shift 2 ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
done
(($# == 1)) || fail "one folder, please (see --help)"
folder=$(realpath -m "$1")
"$top/tools/bare_machine.sh" "${options[@]}" --as user "$folder" "./dev package"
"$top/tools/bare_machine.sh" "${options[@]}" --as root --bring "$folder/user/home/$user/attune/build/package/packages" "$folder" \
  "tools/package_machine.sh inside ~/packages"
