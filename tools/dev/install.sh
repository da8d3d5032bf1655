# shellcheck shell=bash
# ./dev install, uninstall, package: what was built, onto a machine, away from it, and as Debian's packages.

# Below the prefix: every file that was installed, then every folder made for them (with a slash at its end), deepest first.
install_list=share/attune/installed.txt

# in_place COMMAND...: in $target, as root where this user may not write there.
in_place() {
  local there=$target
  while [[ ! -e $there ]]; do there=$(dirname "$there"); done
  # shellcheck disable=SC2016  # the inner shell's own parameters
  local run=(sh -c 'cd "$1" && shift && exec "$@"' sh "$there" "$@")
  if [[ -w $there ]]; then "${run[@]}"; else as_root "${run[@]}"; fi
}

# read_prefix OPTION...: sets prefix, and target, which has DESTDIR before it.
read_prefix() {
  prefix=/usr/local
  while (($# > 0)); do
    case $1 in
      --prefix)
        (($# > 1)) || usage_error "--prefix needs a folder" "./dev install --prefix ~/.local"
        prefix=$2
        shift 2
        ;;
      --prefix=*)
        prefix=${1#*=}
        shift
        ;;
      *) usage_error "install and uninstall do not know '$1'" "./dev install [--prefix FOLDER], with DESTDIR in the environment" ;;
    esac
  done
  [[ -n $prefix ]] || usage_error "the prefix is empty" "./dev install --prefix ~/.local"
  prefix=$(realpath -ms "$prefix")
  target=${DESTDIR:+$(realpath -ms "$DESTDIR")}$prefix
}

# Programs that are linked with the library for markers find it in these prefixes without being told.
refresh_linker() {
  [[ -z ${DESTDIR:-} && $prefix =~ ^/usr(/local)?$ ]] || return 0
  as_root env PATH="$PATH:/usr/sbin:/sbin" ldconfig
}

# Folders that STAGE has and $target lacks, deepest first.
new_folders() {
  local folder
  (cd "$1" && find . -mindepth 1 -depth -type d -printf '%P/\n') | while IFS= read -r folder; do
    [[ -d $target/$folder ]] || printf '%s\n' "$folder"
  done
}

remove_installed() {
  local list
  list=$(<"$target/$install_list")
  grep -v '/$' <<<"$list" | in_place xargs -d '\n' rm -f --
  # A folder that something else uses by now stays.
  grep '/$' <<<"$list" | in_place xargs -d '\n' -r rmdir --ignore-fail-on-non-empty --
}

# install_build BUILD: puts what is in BUILD to $target, in place of what an earlier one left there.
install_build() {
  local stage=$top/build/stage files
  # Everybody may use what is installed.
  umask 022
  rm -rf "$stage"
  DESTDIR=$stage cmake --install "$1" --prefix "$prefix" --strip >"$logs/install.log" ||
    fail "the build cannot be installed" "$logs/install.log says why"
  [[ ! -e $target/$install_list ]] || remove_installed
  files=$stage$prefix
  (cd "$files" && find . ! -type d -printf '%P\n' && echo "$install_list") >"$stage/list"
  new_folders "$files" >>"$stage/list"
  mv "$stage/list" "$files/$install_list"
  in_place mkdir -p "$target"
  in_place cp -R --no-dereference --preserve=mode,timestamps "$files/." "$target/"
  rm -rf "$stage"
  refresh_linker
}

dev_install() {
  read_prefix "$@"
  dev_setup build
  build_preset release product || exit 1
  install_build build/release
  say "Installed $(grep -vc '/$' "$target/$install_list") files below $target; $target/$install_list names each."
  say "The program: $target/bin/attune; its documentation: $target/share/doc/attune"
  [[ -n ${DESTDIR:-} || :$PATH: == *:$prefix/bin:* ]] || say "$prefix/bin is not in PATH yet: export PATH=$prefix/bin:\$PATH"
  say "To remove it: ./dev uninstall --prefix $prefix"
}

dev_uninstall() {
  read_prefix "$@"
  [[ -e $target/$install_list ]] || fail "nothing of attune is installed below $target" "name the prefix that ./dev install had: --prefix FOLDER"
  remove_installed
  refresh_linker
  say "Removed attune from $target"
}

dev_package() {
  (($# == 0)) || usage_error "package has no options" "./dev package"
  local packages=build/package/packages
  dev_setup build package
  build_preset package product || exit 1
  rm -rf "$packages"
  quietly "packages" cpack --config build/package/CPackConfig.cmake || exit 1
  rm -rf "$packages/_CPack_Packages"
  ls -sh1 "$packages"/*.deb >&2
  say "To install them: sudo apt install ./$packages/*.deb"
}
