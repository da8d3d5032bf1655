# shellcheck shell=bash
# ./dev test: everything that must pass. Steps go on after a failure; the last line counts.

tests_passed=0
tests_failed=0
summary=()
unmeasured=()
failures=()
build_pid= beside_pid=
configure=()
tests_at_once=$jobs

# check LABEL COMMAND...: one step that counts as one.
check() {
  local code=0
  quietly "$@" || code=$?
  if ((code == 0)); then tests_passed=$((tests_passed + 1)); else tests_failed=$((tests_failed + 1)); fi
  summary+=("$(printf '%-34s %-7s %4d s' "$1" "$( ((code == 0)) && echo ok || echo FAILED)" "$step_seconds")")
  return "$code"
}

# Address-space randomisation of more than 28 bits breaks the thread sanitizer of g++ 12.
steady_addresses() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# check_ctest LABEL PRESET ARGUMENTS...: ctest in build/PRESET; each of its tests counts as one.
check_ctest() {
  local label=$1 preset=$2 code=0 total=0 bad=0 word
  shift 2
  word=ok
  step_tail=80 quietly "$label" steady_addresses ctest --test-dir "build/$preset" -j "$tests_at_once" --output-on-failure \
    --no-tests=error "$@" || code=$?
  read -r bad total < <(sed -nE 's/.*tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$step_log" | tail -1) || true
  if ((code != 0 && bad == 0)); then bad=1 total=$((total > 0 ? total : 1)); fi
  ((code == 0)) || { word=FAILED && note_failures "$step_log"; }
  tests_passed=$((tests_passed + total - bad))
  tests_failed=$((tests_failed + bad))
  summary+=("$(printf '%-34s %-7s %4d s  %d tests, %d failed' "$label" "$word" "$step_seconds" "$total" "$bad")")
  note_skipped "$label" "build/$preset/Testing/Temporary/LastTest.log"
}

# What failed and why, in a few lines a test, to stand below the summary: a log may be kept by its end alone.
note_failures() {
  local line
  while IFS= read -r line; do
    failures+=("$line")
  done < <(awk '
    { sub(/^[0-9]+: /, "") }
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .*(Failed|Exception|Not Run|Timeout)/ { print "  " $0; shown = 0; more = 0; next }
    /^ *[0-9]+\/[0-9]+ Test +#/ { shown = 99 }
    more > 0 { more--; print "      " substr($0, 1, 240); next }
    shown < 4 && /: Failure$|^(FAIL|ERROR):? |^[A-Za-z.]*(Error|Exception)(: |$)|^ *not ok |AddressSanitizer|ThreadSanitizer|runtime error:/ {
      shown++
      more = /: Failure$/ ? 4 : /^(FAIL|ERROR):? / ? 0 : 1
      print "    " substr($0, 1, 240)
    }' "$1")
}

# note_skipped LABEL LOG: what GoogleTest, Python's unittest and node left out on this machine and why, so that a pass says what it did
# not look at. What times could not be measured of, because others had the CPUs, stands apart.
note_skipped() {
  local line
  while IFS= read -r line; do
    if [[ $line == *"(could not be measured: "* ]]; then
      unmeasured+=("  $1: ${line/could not be measured: /}")
    else
      summary+=("    not run here: $line")
    fi
  done < <(awk '
    /^[0-9]+\/[0-9]+ Testing: / { test = $3 }
    /:[0-9]+: Skipped$/ { getline reason }
    /^\[  SKIPPED \] .* \([0-9]+ ms\)$/ { print test ": " $4 " (" reason ")" }
    /^skipped: / { print test ": " substr($0, 10) }' "$2" 2>/dev/null | sort -u)
}

# test_release FULL TARGETS...: the release build, what is checked of the text, and the tests; meanwhile TARGETS are built with the
# preset asan.
test_release() {
  local full=$1 tidy=changed without='soak|measured|^sanitize$'
  shift
  [[ $full == 0 ]] || tidy=all without=measured
  check "build release" cmake_build release --target all bench/all || return 0  # what ./dev build builds
  begin_build asan --target "$@"
  run_lints check "$tidy" || true
  check_ctest "tests" release -LE "$without"
}

# Tests that measure times, with nothing beside them.
test_measured() {
  if [[ $1 == 1 ]]; then
    check_ctest "measured tests" release -L measured
  else
    check_ctest "measured tests" release -L measured -LE soak
  fi
}

cmake_build() {
  local preset=$1
  shift
  cmake --preset "$preset" "${configure[@]}" && cmake --build --preset "$preset" -j "$jobs" "$@"
}

# begin_build PRESET ARGUMENTS...: builds with the time that what runs meanwhile leaves idle, which is a third of that of the tests.
# A session of its own, because the scheduler shares the CPUs among sessions first (man 7 sched, autogroup): being nice within the
# tests' would take half of the CPUs from browsers, which have sessions of their own.
begin_build() {
  mkdir -p "$logs"
  export -f cmake_build
  # shellcheck disable=SC2016  # the inner shell expands
  jobs=$jobs setsid bash -c '
    { echo 19 >/proc/self/autogroup; } 2>/dev/null
    renice -n 19 -p $$ >/dev/null
    cmake_build "$@"
  ' begin_build "$@" >"$logs/begun_$1.log" 2>&1 </dev/null &
  build_pid=$!
  trap end_beside EXIT
}

# Ends what still runs beside the tests.
end_beside() {
  local pid
  for pid in $build_pid $beside_pid; do
    if kill -0 -- "-$pid" 2>/dev/null; then kill -- "-$pid"; fi
  done
}

# end_build PRESET ARGUMENTS...: waits for the build that began, which is no longer beside the tests and gets its share of the CPUs.
# Giving it back takes CAP_SYS_NICE: without it the build is ended, and goes on here from where it was. The same holds for a build that
# failed, so that the reason stands in the log of this step, and for one that never began.
end_build() {
  local pid=$build_pid
  build_pid=
  if [[ -n $pid ]]; then
    if ! { echo 0 >"/proc/$pid/autogroup"; } 2>/dev/null && kill -0 -- "-$pid" 2>/dev/null; then kill -- "-$pid"; fi
    if wait "$pid"; then return; fi
  fi
  cmake_build "$@"
}

# test_sanitizer PRESET FULL TARGETS...: the tests that carry the label `sanitize`, with FULL=1 also `sanitize-full`.
test_sanitizer() {
  local preset=$1 labels='^sanitize$' tests_at_once=$((jobs + 1))  # they wait for a third of their time
  [[ $2 == 0 ]] || labels='^sanitize'
  shift 2
  check "build $preset" end_build "$preset" --target "$@" || return 0
  check_ctest "tests under $preset" "$preset" -L "$labels"
  [[ $preset != asan ]] || check "locks in what asan does not build" lint_locks rest || return 0
}

# On machines in a folder that goes away when they were good.
test_packages() {
  local folder
  folder=$(mktemp -d /var/tmp/attune-machines-XXXXXX)
  as_root tools/package_machine.sh "$folder" && as_root rm -rf --one-file-system "$folder"
}

# start_beside COMMAND: runs it until the tests are over.
start_beside() {
  mkdir -p "$logs"
  setsid bash -c "exec $1" >"$logs/beside.log" 2>&1 </dev/null &
  beside_pid=$!
  trap end_beside EXIT
  sleep 1
  kill -0 "$beside_pid" 2>/dev/null || fail "'$1' does not run: $(tail -n 1 "$logs/beside.log")" "stress-ng is a package of Debian's"
}

# The last line, and the exit code of it all.
finish_tests() {
  ((${#unmeasured[@]} == 0)) || printf '%s\n' "Could not be measured:" "${unmeasured[@]}"
  ((${#failures[@]} == 0)) || printf '%s\n' "What failed:" "${failures[@]}"
  printf '%d passed, %d failed\n' "$tests_passed" "$tests_failed"
  ((tests_failed == 0))
}

dev_test() {
  local full=0 fuzz_seconds=4 start=$SECONDS beside= sanitized=sanitize_tests
  while (($# > 0)); do
    case $1 in
      --full)
        full=1 fuzz_seconds=120
        shift
        ;;
      --beside)
        (($# > 1)) || usage_error "--beside needs a command" "./dev test --beside 'stress-ng --cpu 2'"
        beside=$2
        shift 2
        ;;
      *) usage_error "test does not know '$1'" "./dev test [--full] [--beside COMMAND]" ;;
    esac
  done
  if [[ $full == 1 ]]; then dev_setup build demo test full machine; else dev_setup; fi
  [[ -z $beside ]] || start_beside "$beside"
  ((full == 0)) || sanitized=sanitize_full_tests configure=(-DATTUNE_UNIT_TESTS=ON)
  test_release "$full" "$sanitized" fuzz_targets
  test_sanitizer asan "$full" "$sanitized" fuzz_targets
  ATTUNE_FUZZ_SECONDS=$fuzz_seconds check_ctest "fuzz targets" asan -L fuzz
  [[ ! -f build/release/build.ninja ]] || test_measured "$full"
  if [[ $full == 1 ]]; then
    test_sanitizer tsan 1 "$sanitized"
    check "packages on bare machines" test_packages || true
    check "examples of growth" tools/try_growth.py --build build/growth || true
  fi
  printf '\nSummary (%d min %d s)\n' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60))
  printf '%s\n' "${summary[@]}"
  if [[ -n $beside ]] && ! kill -0 "$beside_pid" 2>/dev/null; then say "'$beside' ended before the tests"; fi
  finish_tests
}
