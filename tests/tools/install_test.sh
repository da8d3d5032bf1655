#!/usr/bin/env bash
# Installs a build into a new folder and uses it from there as a user would.
# Usage: install_test.sh BUILD
set -euo pipefail

build=$1
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT

fail() {
  printf 'install_test: %s\n' "$*" >&2
  exit 1
}

cmake --install "$build" --prefix "$where" >"$where/install.log" || fail "$(cat "$where/install.log")"
"$where/bin/attune" --version | grep -q '^attune [0-9]' || fail "bin/attune does not say its version"
for file in share/man/man1/attune.1 share/man/man1/attune-report.1 share/bash-completion/completions/attune \
  share/zsh/site-functions/_attune share/fish/vendor_completions.d/attune.fish share/doc/attune/LICENSE; do
  [[ -s $where/$file ]] || fail "$file is missing or empty"
done
bash -n "$where/share/bash-completion/completions/attune"

[[ $("$where/bin/attune" list sinks --names) == *influxdb* ]] || fail "the sink influxdb is not found"

# The SQLite extension, in a program that knows nothing of attune.
extension=$(find "$where" -name attune_sqlite.so)
(cd "$where" && bin/attune run --quiet --sensors cpu --output x.attune -- sleep 0.1)
/usr/bin/python3 - "$extension" "$where/x.attune" <<'PYTHON'
import sqlite3
import sys

database = sqlite3.connect(":memory:")
database.enable_load_extension(True)
database.load_extension(sys.argv[1])
database.execute("select attune_open(?)", (sys.argv[2],))
commands = [row[0] for row in database.execute("select command from processes")]
assert commands == ["sleep 0.1"], commands
PYTHON

# A program outside the source tree, against the shared and the static library, with what pkg-config says.
cat >"$where/program.c" <<'C'
#include <attune/probe.h>
int main(void) {
  ATTUNE_INSTANT("installed");
  return 0;
}
C
PKG_CONFIG_PATH=$(dirname "$(find "$where" -name attune-probe.pc)")
export PKG_CONFIG_PATH
read -ra includes < <(pkg-config --cflags attune-probe)
read -ra link < <(pkg-config --libs attune-probe)
libraries=$(pkg-config --variable=libdir attune-probe)
cc "$where/program.c" "${includes[@]}" "${link[@]}" -o "$where/shared"
LD_LIBRARY_PATH=$libraries "$where/shared"
cc "$where/program.c" "${includes[@]}" "$libraries/libattune_probe.a" -o "$where/static"
"$where/static"

# A static program whose calls are seen: the linker leads them to the archive, and the file says so.
cat >"$where/locks.c" <<'C'
#include <pthread.h>
int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  return pthread_mutex_lock(&mutex) + pthread_mutex_unlock(&mutex);
}
C
cc -static "$where/locks.c" "@$(pkg-config --variable=wrap attune-probe)" "${link[@]}" -o "$where/locks"
"$where/locks"
readelf -nW "$where/locks" | grep -q attune
