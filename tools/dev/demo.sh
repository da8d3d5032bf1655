# shellcheck shell=bash
# ./dev demo: from a clone to the page, on real programs and real files: one is observed, another one made faster.

demo_bytes=$((128 << 20))

# At least demo_bytes of the files that this machine has, as one tar file.
demo_input() {
  local list=$1.list
  # awk reads its whole input: a find that lost its reader would fail the pipe.
  find /usr/lib /usr/share /usr/bin -xdev -type f -readable -size +0 -size -16M -printf '%s %p\n' 2>/dev/null |
    awk -v wanted="$demo_bytes" 'have < wanted { have += $1; sub(/^[0-9]+ /, ""); print }' >"$list" || true
  tar --create --file="$1" --files-from="$list" --absolute-names
  (($(stat -c %s "$1") >= 100000000)) || fail "this machine has less than 100 MB in /usr" "the demo needs real files to compress"
}

# Waits until the server whose output goes to LOG has printed its address, and prints that.
demo_address() {
  local log=$1 server=$2 address
  until address=$(grep -oE 'http://[^ ]+' "$log" | head -n 1) && [[ -n $address ]]; do
    kill -0 "$server" 2>/dev/null || fail "attune view ended" "$(tail -n 3 "$log")"
    sleep 0.1
  done
  printf '%s\n' "$address"
}

# On a terminal the page stays until Ctrl-C; elsewhere it is enough that it answers.
demo_page() {
  local attune=$1 recording=$2 work=$3 server address
  if [[ -t 1 && -t 2 && -z ${CI:-} ]]; then
    say "The page, until Ctrl-C:"
    trap : INT # ends the server, and with it the demo
    "$attune" view "$recording"
    return 0
  fi
  "$attune" view "$recording" >"$work/view.log" 2>&1 &
  server=$!
  address=$(demo_address "$work/view.log" "$server")
  tools/dev/page_answers.py "$address" || fail "the page does not answer at $address" "see what attune view says: $(cat "$work/view.log")"
  kill -INT "$server"
  wait "$server" || true
}

# tesseract has teams of four threads, which are too many for two CPUs.
demo_tuned() {
  local attune=$1 work=$2 recording=$3 pages=45 i narrow=()
  for ((i = 0; i < pages; i++)); do printf '%s\n' "$top/tests/e2e/page.png"; done >"$work/pages.txt"
  ((jobs <= 2)) || narrow=(taskset -c "0,1")
  say ""
  say "\$ attune tune -o build/demo/tesseract.attune -- ${narrow[*]:+${narrow[*]} }tesseract pages.txt text   ($pages pages)"
  rm -f "$recording"
  "$attune" tune -o "$recording" -- "${narrow[@]}" tesseract "$work/pages.txt" "$work/text"
  [[ -s $work/text.txt ]] || fail "tesseract has read nothing" "it ran under attune tune; please report this"
}

dev_demo() {
  (($# == 0)) || usage_error "demo has no options" "./dev demo"
  local attune=$top/build/release/bin/attune work recording=$top/build/demo/xz.attune tuned=$top/build/demo/tesseract.attune threads
  dev_setup build demo
  build_preset release product || exit 1
  work=$(mktemp -d "${TMPDIR:-/tmp}/attune-demo.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$work'" EXIT
  mkdir -p build/demo
  quietly "input: a tar of files of /usr" demo_input "$work/input.tar" || exit 1
  threads=$((jobs > 2 ? jobs : 2))
  say ""
  say "\$ attune run -o build/demo/xz.attune -- xz -2 --threads=$threads --keep input.tar   ($(($(stat -c %s "$work/input.tar") >> 20)) MiB)"
  rm -f "$recording"
  "$attune" run -o "$recording" -- xz -2 --threads="$threads" --keep "$work/input.tar"
  xz --test "$work/input.tar.xz" || fail "the compressed file is damaged" "xz ran under attune; please report this"
  rm -f "$work/input.tar" "$work/input.tar.xz"
  say ""
  say "The recording: build/demo/xz.attune ($(($(stat -c %s "$recording") >> 10)) KiB)"
  say "Its report:    build/release/bin/attune report build/demo/xz.attune"
  say "Its page:      build/release/bin/attune view build/demo/xz.attune"
  demo_tuned "$attune" "$work" "$tuned"
  say ""
  say "What was changed, and the objective meanwhile, on the page: build/release/bin/attune view build/demo/tesseract.attune (Tuning)"
  demo_page "$attune" "$tuned" "$work"
}
