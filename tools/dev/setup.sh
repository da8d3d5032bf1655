# shellcheck shell=bash
# ./dev setup: what Debian 12 lacks of tools/packages.txt. The package database itself says what is there, so a second
# run costs some milliseconds and cannot be wrong.

# packages GROUP: the names of one group of tools/packages.txt.
packages() {
  sed -e 's/#.*//' tools/packages.txt |
    awk -v group="[$1]" '/^\[/ { inside = ($1 == group); next } inside && NF { print $1 }'
}

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Those of the named packages that are not installed. Of A|B one will do; A, where there is none.
missing_packages() {
  local names name found
  for names in "$@"; do
    found=
    for name in ${names//|/ }; do ! installed "$name" || found=1; done
    [[ -n $found ]] || printf '%s\n' "${names%%|*}"
  done
}

# Debian's node where there is none; a newer one, from wherever, is left alone.
missing_node() {
  local major=0
  if command -v node >/dev/null; then major=$(node -p 'process.versions.node.split(".")[0]'); fi
  ((major >= 18)) || printf 'nodejs\n'
  command -v npm >/dev/null || printf 'npm\n'
}

as_root() {
  if [[ $EUID == 0 ]]; then "$@"; else sudo "$@"; fi
}

# Asks for the password, if one is needed, before output goes to a log.
need_root() {
  local command="apt-get install -y --no-install-recommends $*"
  [[ $EUID != 0 ]] || return 0
  command -v sudo >/dev/null || fail "packages are missing, and there is no sudo" "as root: $command"
  sudo -n true 2>/dev/null && return 0
  [[ -t 2 ]] || fail "packages are missing, and sudo asks for a password" "as root: $command"
  sudo -v || fail "packages are missing, and sudo refused" "as root: $command"
}

install_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  step_tail=15
  quietly "package lists" as_root "${apt[@]}" update || fail "apt-get update failed" "is the package mirror reachable?"
  quietly "packages ($#)" as_root "${apt[@]}" install -y --no-install-recommends --no-remove "$@" ||
    fail "apt-get install failed" "the log names the package; tools/packages.txt is for Debian 12"
  unset step_tail
}

# dev_setup [GROUP...]: build demo test package full machine; build demo test when none is named.
dev_setup() {
  local group wanted=() missing
  (($# > 0)) || set -- build demo test
  for group in "$@"; do
    mapfile -t -O "${#wanted[@]}" wanted < <(packages "$group")
    [[ $group =~ ^(build|demo|test|package|full|machine)$ ]] ||
      usage_error "there is no group '$group'" "the groups are build, demo, test, package, full and machine"
  done
  [[ -z ${ATTUNE_NO_SETUP:-} ]] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    fail "this machine has no apt; attune is built on Debian 12" \
      "install what tools/packages.txt names in your system's way, then set ATTUNE_NO_SETUP=1"
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}" && missing_node)
  ((${#missing[@]} > 0)) || return 0
  need_root "${missing[@]}"
  install_packages "${missing[@]}"
}
