# shellcheck shell=bash
# ./dev bench: runs every program of build/release/bench, one at a time, and prints their figures with their limits.

dev_bench() {
  local program table=(tools/bench_table.py) figures=build/bench/figures.jsonl
  case ${1:-} in
    '') ;;
    --check) table+=(--check) ;;
    *) usage_error "bench does not know '$1'" "./dev bench [--check]" ;;
  esac
  dev_setup
  build_preset release all bench/all || exit 1
  mkdir -p build/bench
  : >"$figures"
  for program in build/release/bench/*; do
    [[ -f $program && -x $program ]] || continue
    # A program that fails leaves a line that fails the check.
    if ! ATTUNE_BIN=build/release/bin/attune "$program" >"$figures.part"; then
      printf '{"figure": "%s", "failed": true}\n' "$(basename "$program")" >>"$figures.part"
    fi
    cat "$figures.part" >>"$figures"
    say "$(basename "$program"): $(wc -l <"$figures.part") figures"
  done
  rm -f "$figures.part"
  "${table[@]}" "$figures"
}
