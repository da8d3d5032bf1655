# shellcheck shell=bash
# ./dev build: one preset of CMakePresets.json, into build/PRESET.

# Libraries of arm64 that the preset arm64 links with: what the group build has for development, and what that depends on.
fetch_arm64() {
  local libraries
  mapfile -t libraries < <(packages build | grep -- '-dev$')
  quietly "libraries of arm64" tools/debian_root.sh arm64 build/debian/arm64/sysroot "${libraries[@]}"
}

# build_preset PRESET [TARGET...]: configures where that is needed and builds; prints one line a step.
build_preset() {
  local preset=$1
  shift
  # CMake itself configures again when its files change, but not for the presets.
  if [[ ! -f build/$preset/build.ninja || CMakePresets.json -nt build/$preset/build.ninja ]]; then
    quietly "configure $preset" cmake --preset "$preset" || return 1
  fi
  quietly "build $preset" cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
}

dev_build() {
  local preset=release targets=(all bench/all)
  while (($# > 0)); do
    case $1 in
      --preset)
        (($# > 1)) || usage_error "--preset needs a name" "./dev build --preset release"
        preset=$2
        shift 2
        ;;
      --preset=*)
        preset=${1#*=}
        shift
        ;;
      *) usage_error "build does not know '$1'" "./dev build [--preset release|dev|asan|tsan|arm64]" ;;
    esac
  done
  [[ $preset =~ ^(release|dev|asan|tsan|arm64)$ ]] ||
    usage_error "there is no preset '$preset'" "the presets are release, dev, asan, tsan and arm64"
  dev_setup build
  case $preset in
    asan) dev_setup test ;;
    arm64)
      dev_setup machine
      fetch_arm64 || exit 1
      targets=(product truth_programs counter_test)  # what runs in tools/machine.sh
      ;;
  esac
  build_preset "$preset" "${targets[@]}" || exit 1
  say "build/$preset/bin/attune"
}
