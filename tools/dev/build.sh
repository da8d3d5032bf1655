# shellcheck shell=bash
# ./dev build: one preset of CMakePresets.json, into build/PRESET.

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
  local preset=release
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
      *) usage_error "build does not know '$1'" "./dev build [--preset release|dev|asan|tsan]" ;;
    esac
  done
  [[ $preset =~ ^(release|dev|asan|tsan)$ ]] ||
    usage_error "there is no preset '$preset'" "the presets are release, dev, asan and tsan"
  dev_setup build
  [[ $preset != asan ]] || dev_setup test
  build_preset "$preset" all bench/all || exit 1
  say "build/$preset/bin/attune"
}
