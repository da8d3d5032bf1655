# shellcheck shell=bash
# What the commands of ./dev share: messages, steps with times, logs.

# Several clones and worktrees share one compiler cache.
export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1

jobs=$(nproc)
logs=build/logs

say() { printf '%s\n' "$*" >&2; }

# fail MESSAGE HINT: ends with exit code 1.
fail() {
  printf 'dev: %s\n' "$1" >&2
  [[ -z ${2:-} ]] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

# usage_error MESSAGE HINT: ends with exit code 2.
usage_error() {
  printf 'dev: %s\nhint: %s\n' "$1" "$2" >&2
  exit 2
}

# Shows, on a terminal, that LABEL is still at work.
tick() {
  local label=$1 start=$SECONDS
  while sleep 1; do
    printf '\r%-34s %4d s' "$label" $((SECONDS - start)) >&2
  done
}

# quietly LABEL COMMAND...: runs COMMAND with its output in $logs/LABEL.log and prints LABEL with its result and time.
# The time stays in step_seconds. On failure it prints the end of the log and returns the command's exit code.
quietly() {
  local label=$1 start=$SECONDS code=0 ticker=
  shift
  step_log=$logs/${label//[^A-Za-z0-9]/_}.log
  mkdir -p "$logs"
  if [[ -t 2 ]]; then
    tick "$label" &
    ticker=$!
  else
    printf '%-34s ' "$label" >&2
  fi
  "$@" >"$step_log" 2>&1 </dev/null || code=$?
  if [[ -n $ticker ]]; then
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    printf '\r%-34s ' "$label" >&2
  fi
  step_seconds=$((SECONDS - start))
  if ((code == 0)); then
    printf 'ok      %4d s\n' "$step_seconds" >&2
  else
    printf 'FAILED  %4d s  (exit code %d; all of it: %s)\n' "$step_seconds" "$code" "$step_log" >&2
    tail -n "${step_tail:-40}" "$step_log" | sed 's/^/    /' >&2
  fi
  return "$code"
}

# The C and C++ files that people wrote.
code_files() {
  git_here ls-files -co --exclude-standard -- 'src/*.h' 'src/*.c' 'src/*.cpp' 'include/*.h' 'tests/*.h' 'tests/*.c' \
    'tests/*.cpp' 'bench/*.h' 'bench/*.c' 'bench/*.cpp' 'examples/*.h' 'examples/*.c' 'examples/*.cpp' |
    while read -r file; do [[ ! -f $file ]] || printf '%s\n' "$file"; done
}

# git, also where the clone belongs to another user (root working on a user's clone).
git_here() { git -c safe.directory='*' "$@"; }
