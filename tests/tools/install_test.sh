#!/usr/bin/env bash
# Installs a build into a new folder as ./dev install does, uses it from there as a user would, and removes it.
# Usage: install_test.sh SOURCE BUILD
set -euo pipefail

source_folder=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
where=$work/attune
mkdir "$work/logs"

fail() {
  printf 'install_test: %s\n' "$*" >&2
  exit 1
}

# dev PREFIX FUNCTION [ARGUMENT...]: a function of ./dev's install, of which staging and logs are in this test's folder.
dev() {
  bash -euo pipefail -c '
    top=$1
    for part in lib setup build install; do source "$2/tools/dev/$part.sh"; done
    logs=$top/logs
    read_prefix --prefix "$3"
    shift 3
    "$@"
  ' dev "$work" "$source_folder" "$@"
}

# The files and folders below FOLDER.
tree() { (cd "$1" && find . | sort); }

# A machine that has files of others already.
mkdir -p "$where/share/man" "$where/bin"
echo kept >"$where/bin/other"
tree "$where" >"$work/before"
(umask 077 && dev "$where" install_build "$build")
echo stale >"$where/share/attune/sensors/stale.toml"
printf 'share/attune/sensors/stale.toml\n' >>"$where/share/attune/installed.txt"
dev "$where" install_build "$build"
[[ ! -e $where/share/attune/sensors/stale.toml ]] || fail "what an earlier version installed is still there"

"$where/bin/attune" --version | grep -q '^attune [0-9]' || fail "bin/attune does not say its version"
for file in share/man/man1/attune.1.gz share/man/man1/attune-report.1.gz share/bash-completion/completions/attune \
  share/zsh/site-functions/_attune share/fish/vendor_completions.d/attune.fish share/doc/attune/LICENSE \
  share/doc/attune/README.md share/doc/attune/docs/live.md share/doc/attune/examples/plugin-sink/tsv.c; do
  [[ -s $where/$file ]] || fail "$file is missing or empty"
done
unreadable=$(find "$where" ! -perm -a=r)
[[ -z $unreadable ]] || fail "not for everybody: $unreadable"
bash -n "$where/share/bash-completion/completions/attune"

[[ $("$where/bin/attune" list sinks --names) == *influxdb* ]] || fail "the sink influxdb is not found"

# The SQLite extension, in a program that knows nothing of attune.
extension=$(find "$where" -name attune_sqlite.so)
"$where/bin/attune" run --quiet --sensors cpu --output "$work/x.attune" -- sleep 0.1
/usr/bin/python3 - "$extension" "$work/x.attune" <<'PYTHON'
import sqlite3
import sys

database = sqlite3.connect(":memory:")
database.enable_load_extension(True)
database.load_extension(sys.argv[1])
database.execute("select attune_open(?)", (sys.argv[2],))
commands = [row[0] for row in database.execute("select command from processes")]
assert commands == ["sleep 0.1"], commands
states = dict(database.execute("select state, ns from account where thread is not null"))
assert states["sleep"] >= 100e6, states
PYTHON

# A program outside the source tree, against the shared and the static library, with what pkg-config says.
cat >"$work/program.c" <<'C'
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
cc "$work/program.c" "${includes[@]}" "${link[@]}" -o "$work/shared"
LD_LIBRARY_PATH=$libraries "$work/shared"
cc "$work/program.c" "${includes[@]}" "$libraries/libattune_probe.a" -o "$work/static"
"$work/static"

# The same with CMake.
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(program LANGUAGES C CXX)
find_package(attune 0.1 REQUIRED)
add_executable(shared ../program.c)
target_link_libraries(shared PRIVATE attune::probe)
add_executable(static ../program.c)
target_link_libraries(static PRIVATE attune::probe_static)
add_executable(flow ../flow.cpp)
target_link_libraries(flow PRIVATE attune::flow)
attune_add_p2g(once ../once.p2g)
CMAKE
cat >"$work/once.p2g" <<'P2G'
once:
  %{ puts("installed"); %}
P2G
cat >"$work/flow.cpp" <<'CPP'
#include <attune/flow.h>
int main() {
  attune::flow::Graph graph;
  graph.AddKernel("once", [] {});
  return graph.Run().ExitCode();
}
CPP
{ cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$where" && cmake --build "$work/project/build"; } >"$work/logs/cmake.log" 2>&1 ||
  fail "a project with find_package(attune): $(tail -n 5 "$work/logs/cmake.log")"
"$work/project/build/shared"
"$work/project/build/static"
"$work/project/build/flow"
[[ $("$work/project/build/once") == installed ]]
[[ $(XDG_CACHE_HOME="$work/cache" "$where/bin/attune" p2g run "$work/once.p2g") == installed ]]

# A static program whose calls are seen: the linker leads them to the archive, and the file says so.
cat >"$work/locks.c" <<'C'
#include <pthread.h>
int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  return pthread_mutex_lock(&mutex) + pthread_mutex_unlock(&mutex);
}
C
cc -static "$work/locks.c" "@$(pkg-config --variable=wrap attune-probe)" "${link[@]}" -o "$work/locks"
"$work/locks"
readelf -nW "$work/locks" | grep -q attune

dev "$where" remove_installed
tree "$where" >"$work/after"
diff "$work/before" "$work/after" || fail "removing leaves, or takes, what is shown above"

# As a package's builder wants it.
DESTDIR=$work/image dev /opt/attune install_build "$build"
[[ -x $work/image/opt/attune/bin/attune ]] || fail "DESTDIR is not honoured"
