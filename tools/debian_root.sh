#!/usr/bin/env bash
# Unpacks Debian 12's packages of any architecture into a folder, with the packages that they depend on. Nothing is installed:
# apt works on lists, caches and a package database of its own, in build/debian/ARCH, and the host's are left alone.
#
# Usage: tools/debian_root.sh [--alone] ARCH FOLDER PACKAGE...
#   --alone   these packages without what they depend on; a kernel's metapackage still brings its kernel
#   ARCH      arm64 or amd64
#   FOLDER    has the files afterwards. It is made anew, unless it has the same packages already
#   PACKAGE   a name, or a name with =VERSION
#
# Exit codes: 0 done, 1 failed, 2 usage, 3 unavailable here (no apt, or no mirror that answers).
#
# Example: tools/debian_root.sh arm64 build/debian/arm64/sysroot libelf-dev libbpf-dev
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
release=bookworm

# fail CODE MESSAGE...
fail() {
  local code=$1
  shift
  printf 'debian_root: %s\n' "$*" >&2
  exit "$code"
}

usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
}

# Lines for a list of sources: the mirrors that the host's apt uses, or Debian's own where it uses none for this release.
sources() {
  local key=/usr/share/keyrings/debian-archive-keyring.gpg suite mirror found=
  [[ -r $key ]] || fail 3 "$key is not there: install debian-archive-keyring"
  # shellcheck disable=SC2016  # apt's own syntax
  while read -r suite mirror; do
    printf 'deb [signed-by=%s] %s %s main\n' "$key" "$mirror" "$suite"
    found=1
  done < <(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' "Origin: Debian" 2>/dev/null | grep "^$release" | sort -u)
  [[ -n $found ]] || printf 'deb [signed-by=%s] http://deb.debian.org/debian %s main\n' "$key" "$release"
}

# Makes apt's own root. What the host's apt knows about the way to its mirrors, such as a proxy, holds there too.
make_apt() {
  local apt=$1 arch=$2
  mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/trusted.gpg.d,log,none/partial}
  : >"$apt/state/status"
  sources >"$apt/etc/sources.list"
  {
    apt-config dump Acquire::http
    apt-config dump Acquire::https
    cat <<TEXT
Dir::State "$apt/state"; Dir::State::status "$apt/state/status"; Dir::Cache "$apt/cache"; Dir::Etc "$apt/etc"; Dir::Log "$apt/log";
APT::Architecture "$arch"; APT::Architectures { "$arch"; };
APT::Install-Recommends "false"; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::Retries "3";
TEXT
  } >"$apt/apt.conf"
}

# Lists of the mirrors, read again once a day.
update_lists() {
  local apt=$1
  [[ -z $(find "$apt/updated" -mmin -1440 2>/dev/null) ]] || return 0
  apt-get -q update --error-on=any >"$apt/log/update.log" 2>&1 ||
    fail 3 "no mirror of Debian answers: $(grep -m 1 '^E: ' "$apt/log/update.log" || true)"
  touch "$apt/updated"
}

# The package, or the kernel that a metapackage stands for.
resolve_kernel() {
  local name=$1 next=$1
  while [[ -n $next ]]; do
    name=$next
    next=$(apt-cache depends --important "$name" 2>/dev/null | sed -nE 's/^ *\|?Depends: (linux-(image|binary)-[^ ]*)$/\1/p' | head -n 1)
  done
  printf '%s\n' "$name"
}

# Downloads to apt's cache, and prints the files, those included that were there.
download() {
  local apt=$1 alone=$2 name names=() uris
  shift 2
  local uncached=(apt-get -q -y -o "Dir::Cache::archives=$apt/none" --print-uris)
  if [[ $alone == 1 ]]; then
    for name in "$@"; do names+=("$(resolve_kernel "$name")"); done
    (cd "$apt/cache/archives" && apt-get -q download "${names[@]}") >"$apt/log/download.log" 2>&1 || return 1
    uris=$(cd "$apt/none" && "${uncached[@]}" download "${names[@]}")
  else
    uris=$("${uncached[@]}" install "$@" 2>"$apt/log/download.log") || return 1
    apt-get -q -y --download-only install "$@" >"$apt/log/download.log" 2>&1 || return 1
  fi
  awk -v folder="$apt/cache/archives" '/^'\''/ { print folder "/" $2 }' <<<"$uris"
}

# As download(); with newer lists where a mirror has no longer what the lists say.
download_surely() {
  local apt=$1 code=1
  download "$@" && return
  rm -f "$apt/updated"
  update_lists "$apt"
  download "$@" && return
  ! grep -q '^E: Failed to fetch' "$apt/log/download.log" || code=3
  fail "$code" "cannot fetch $(tail -n 1 "$apt/log/download.log")"
}

# Links with a path from the root, which would lead to the host's files, become links from where they are.
relative_links() {
  local root=$1 link target
  find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    target=$(readlink "$link")
    ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$root$target")" "$link"
  done
}

# unpack FOLDER FILE...: with one folder for libraries, as in an installed system.
unpack() {
  local folder=$1 file name
  shift
  rm -rf "$folder.part"
  mkdir -p "$folder.part/usr/"{bin,sbin,lib}
  for name in bin sbin lib; do ln -s "usr/$name" "$folder.part/$name"; done
  for file in "$@"; do
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder.part" --keep-directory-symlink --no-same-owner
  done
  relative_links "$folder.part"
  rm -rf "$folder"
  mv "$folder.part" "$folder"
}

# has FOLDER PACKAGES: whether the folder was made of them.
has() {
  [[ -f $1/.packages && $(<"$1/.packages") == "$2" ]]
}

main() {
  local alone=0 arch folder apt files wanted name
  case ${1:-} in
    -h | --help) usage && return ;;
    --alone) alone=1 && shift ;;
  esac
  [[ $# -ge 3 && $1 =~ ^(arm64|amd64)$ ]] || fail 2 "give an architecture (arm64 or amd64), a folder and packages (see --help)"
  arch=$1 folder=$(realpath -m "$2")
  shift 2
  wanted="$alone $*"
  ! has "$folder" "$wanted" || return 0
  for name in apt-get dpkg-deb flock; do
    command -v "$name" >/dev/null || fail 3 "$name is not there: this works on Debian and its descendants"
  done
  apt=$top/build/debian/$arch
  mkdir -p "$apt"
  exec 9>"$apt/lock"
  flock 9
  ! has "$folder" "$wanted" || return 0  # another one has just made it
  make_apt "$apt" "$arch"
  export APT_CONFIG=$apt/apt.conf
  update_lists "$apt"
  files=$(download_surely "$apt" "$alone" "$@")
  mapfile -t files <<<"$files"
  unpack "$folder" "${files[@]}"
  printf '%s\n' "$wanted" >"$folder/.packages"
}

main "$@"
