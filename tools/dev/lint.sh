# shellcheck shell=bash
# ./dev lint and ./dev format.

lint_format() { code_files | xargs -r clang-format-19 --dry-run -Werror; }

lint_rules() { tools/check_includes.py; }

lint_single_source() { tools/check_single_source.py; }

lint_shell() {
  # The parts of ./dev are checked with it, because they share variables.
  git_here ls-files -co --exclude-standard | grep -v '^tools/dev/' | while read -r file; do
    if [[ $file == *.sh || $file == *.bash ]] || { [[ -f $file ]] && head -c 40 "$file" | grep -aqE '^#!.*\b(bash|sh)$'; }; then
      printf '%s\n' "$file"
    fi
  done | xargs -r shellcheck --external-sources --check-sourced
}

# Files that differ from where this branch left the main line, new ones included.
changed_code_files() {
  local base=
  for ref in origin/HEAD origin/main main; do
    base=$(git_here merge-base HEAD "$ref" 2>/dev/null) && break
  done
  code_files | sort >build/code_files
  { git_here diff --name-only "${base:-HEAD}" && git_here ls-files -o --exclude-standard; } | sort -u | comm -12 - build/code_files
}

# Commands that compile each file by itself, without precompiled headers, which are g++'s, into build/tidy; what the build generates
# is in build/release. So files are seen, too, that lack an include.
tidy_commands() {
  cmake --preset release -B build/tidy -DATTUNE_UNITY=OFF -DATTUNE_PRECOMPILED_HEADERS=OFF >/dev/null
  sed -i 's#/build/tidy\b#/build/release#g' build/tidy/compile_commands.json
}

# lint_tidy changed|all: clang-tidy on what the release build compiles. The eBPF programs are compiled for another machine, and clang
# has no OpenMP of its own here.
lint_tidy() {
  local files
  tidy_commands
  mapfile -t files < <(if [[ $1 == all ]]; then code_files; else changed_code_files; fi | grep -E '\.(c|cpp)$' | grep -vE '\.bpf\.c$|/openmp_(program\.cpp|plugin\.c)$')
  mapfile -t files < <(for file in "${files[@]}"; do
    grep -qF "\"file\": \"$top/$file\"" build/tidy/compile_commands.json && printf '%s\n' "$file"
  done)
  echo "${#files[@]} files"
  ((${#files[@]} > 0)) || return 0
  # Its analyzer does not understand coroutines: it finds memory that is used after its end, in Boost's headers.
  # shellcheck disable=SC2016  # the inner shell's own parameters
  printf '%s\0' "${files[@]}" | xargs -0 -P "$jobs" -n 1 sh -c '
    if grep -q co_await "$0"; then set -- "--checks=-clang-analyzer-*"; fi
    exec clang-tidy-19 -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option "$@" "$0"'
}

# Modules that the preset asan compiles: there, too, a finding of that analysis is an error.
modules_of_asan() {
  ninja -C build/asan -t inputs sanitize_tests fuzz_targets | sed -nE 's#^src/([a-z_]+)/CMakeFiles/.*#\1#p' | sort -u
}

# lint_locks all|rest: clang's thread-safety analysis (src/base/thread_safety.h) of all files with locks, in themselves or in the header
# of their name; of those that the preset asan does not compile. A change of a header reaches files that did not change.
lint_locks() {
  local files
  mapfile -t files < <(git_here grep -lE --untracked 'base/thread_safety\.h|MutexLock' -- 'src/*.h' 'src/*.cpp' | sed 's/\.h$/.cpp/' | sort -u |
    if [[ $1 == all ]]; then cat; else grep -vE "^src/($(modules_of_asan | paste -sd'|'))/"; fi)
  echo "${#files[@]} files"
  tidy_commands
  python3 - "$top" "${files[@]}" <<'END' | xargs -0 -P "$jobs" -n 1 sh -c
import json, shlex, sys
top, *files = sys.argv[1:]
wanted = {f"{top}/{file}" for file in files}
check = ["clang++-19", "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
for entry in json.load(open("build/tidy/compile_commands.json")):
    if entry["file"] in wanted:
        flags = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-std="))]
        print(shlex.join(check + flags + [entry["file"]]), end="\0")
END
}

# run_lints RUN changed|all: every check but that of locks, each through RUN LABEL COMMAND...
run_lints() {
  local check=$1 scope=$2 code=0
  "$check" "format" lint_format || code=1
  "$check" "include rules" lint_rules || code=1
  "$check" "single source" lint_single_source || code=1
  "$check" "shellcheck" lint_shell || code=1
  "$check" "clang-tidy ($scope files)" lint_tidy "$scope" || code=1
  return "$code"
}

dev_lint() {
  local scope=changed
  case ${1:-} in
    '') ;;
    --all) scope=all ;;
    *) usage_error "lint does not know '$1'" "./dev lint [--all]" ;;
  esac
  dev_setup build test
  build_preset release || exit 1 # generated headers and the compile commands
  local code=0
  run_lints quietly "$scope" || code=1
  quietly "locks" lint_locks all || code=1
  ((code == 0)) || exit 1
}

dev_format() {
  dev_setup test
  code_files | xargs -r clang-format-19 -i
}
