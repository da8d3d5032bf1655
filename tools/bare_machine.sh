#!/usr/bin/env bash
# Proves that a clone works on Debian 12 as it comes: debootstraps machines into FOLDER, clones this repository's HEAD into
# each, and runs commands there, as root and as an ordinary user with sudo, without a terminal. Each identity gets a fresh
# machine. Mounts and processes live in namespaces of their own and go away with the run; FOLDER stays for a look, and its
# `base` is used again.
#
# Usage: tools/bare_machine.sh [OPTIONS] FOLDER [COMMAND...]
#   --mirror URL       Debian mirror (default: what this host's apt uses)
#   --ca FILE          a certificate authority that the machine shall trust (PEM; can be given again)
#   --env NAME=VALUE   for the commands, such as a proxy (can be given again)
#   --as root|user     one identity only
#   --bring PATH       a file or folder that lies in the home folder of each machine (can be given again)
#   --ccache DIR       start with a copy of this compiler cache; the times are then not those of a cold machine
#   COMMAND            each is one shell command in the clone (default: "./dev demo" "./dev test")
#
# Example: sudo tools/bare_machine.sh --as user /var/tmp/bare "./dev demo"
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
user=ann
mirror=
authorities=()
environment=()
identities=(root user)
compiler_cache=
brought=()

fail() {
  printf 'bare_machine: %s\n' "$*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
}

host_mirror() {
  # shellcheck disable=SC2016  # apt's own syntax
  apt-get indextargets --format '$(SITE)' 'Codename: bookworm' 2>/dev/null | head -n 1
}

# The image that every machine is copied from: Debian's default set of packages, git and sudo.
make_base() {
  local base=$1 file
  [[ ! -e $base/etc/debian_version ]] || return 0
  rm -rf "$base.part"
  debootstrap --include=git,sudo bookworm "$base.part" "$mirror" >"$base.log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 3 "$base.log")"
  mkdir -p "$base.part/usr/local/share/ca-certificates"
  for file in "${authorities[@]}"; do
    cp "$file" "$base.part/usr/local/share/ca-certificates/$(basename "${file%.*}").crt"
  done
  chroot "$base.part" useradd --create-home --shell /bin/bash "$user"
  echo "$user ALL=(ALL) NOPASSWD: ALL" >"$base.part/etc/sudoers.d/$user"
  mv "$base.part" "$base"
}

# Mounts what a machine has. Runs in a mount and pid namespace of its own.
mount_machine() {
  local machine=$1
  mount --make-rprivate /
  mount -t proc proc "$machine/proc"
  mount --rbind /sys "$machine/sys"
  mount -t tmpfs -o mode=755 dev "$machine/dev"
  mkdir "$machine/dev/pts" "$machine/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$machine/dev/pts"
  mount -t tmpfs -o mode=1777 shm "$machine/dev/shm"
  local node
  for node in null zero full random urandom tty; do
    touch "$machine/dev/$node"
    mount --bind "/dev/$node" "$machine/dev/$node"
  done
  ln -s pts/ptmx "$machine/dev/ptmx"
  ln -s /proc/self/fd "$machine/dev/fd"
}

# inside MACHINE IDENTITY HOME COMMAND [NAME=VALUE...]: what this script does when it calls itself in new namespaces.
inside() {
  local machine=$1 identity=$2 home=$3 command=$4
  shift 4
  hostname bare
  mount_machine "$machine"
  # As little environment as a fresh login has.
  exec chroot "$machine" runuser -u "$identity" -- env -i HOME="$home" USER="$identity" CI=true \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@" \
    bash -c "cd ~/attune && $command" </dev/null
}

# run_machine FOLDER root|user COMMAND...
run_machine() {
  local folder=$1 who=$2 identity=root home=/root machine command start code file
  shift 2
  [[ $who == root ]] || identity=$user home=/home/$user
  machine=$folder/$who
  rm -rf --one-file-system "$machine"
  cp -a "$folder/base" "$machine"
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
  echo "bare" >"$machine/etc/hostname"
  echo "127.0.1.1 bare" >>"$machine/etc/hosts"
  git -c safe.directory='*' clone --quiet --no-local "$top" "$machine$home/attune"
  for file in "${brought[@]}"; do cp -R "$file" "$machine$home/"; done
  if [[ -n $compiler_cache ]]; then
    mkdir -p "$machine$home/.cache"
    cp -a "$compiler_cache" "$machine$home/.cache/ccache"
  fi
  chroot "$machine" chown -R "$identity:$identity" "$home"
  for command in "$@"; do
    printf '== as %s: %s\n' "$who" "$command"
    start=$SECONDS code=0
    # Killed with this script, and everything inside with it.
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --uts "${BASH_SOURCE[0]}" inside \
      "$machine" "$identity" "$home" "$command" "${environment[@]}" || code=$?
    printf '== as %s: %s: exit code %d after %d min %d s\n\n' "$who" "$command" "$code" \
      $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60))
    ((code == 0)) || result=1
  done
}

if [[ ${1:-} == inside ]]; then
  shift
  inside "$@"
fi
while [[ ${1:-} == -* ]]; do
  case $1 in
    --mirror) mirror=$2 && shift 2 ;;
    --ca) authorities+=("$2") && shift 2 ;;
    --env) environment+=("$2") && shift 2 ;;
    --bring) brought+=("$2") && shift 2 ;;
    --ccache) compiler_cache=$2 && shift 2 ;;
    --as)
      [[ ${2:-} == root || ${2:-} == user ]] || fail "--as takes root or user (see --help)"
      identities=("$2") && shift 2
      ;;
    -h | --help) usage && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
done
(($# > 0)) || fail "no folder given (see --help)"
folder=$(realpath -m "$1")
shift
(($# > 0)) || set -- "./dev demo" "./dev test"
[[ $EUID == 0 ]] || fail "needs root: debootstrap and namespaces"
command -v debootstrap >/dev/null || fail "needs debootstrap (apt-get install debootstrap)"
mirror=${mirror:-$(host_mirror)}
[[ -n $mirror ]] || fail "this host's apt names no mirror: give --mirror URL"

mkdir -p "$folder"
make_base "$folder/base"
result=0
for who in "${identities[@]}"; do
  run_machine "$folder" "$who" "$@"
done
exit "$result"
