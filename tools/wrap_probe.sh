#!/bin/sh
# Makes of the functions with which the preloaded library takes the place of others what static programs are linked with:
# each FUNCTION becomes __wrap_FUNCTION, and a file of options for the compiler has the linker call that one in its place.
# Which functions these are is what the objects define: there is no second list.
# Usage: wrap_probe.sh LD NM OBJCOPY OUTPUT_OBJECT OUTPUT_OPTIONS OBJECT...
set -eu
ld=$1 nm=$2 objcopy=$3 object=$4 options=$5
shift 5
functions=$("$nm" --defined-only --extern-only "$@" | awk '$2 == "T" && $3 !~ /^(_Z|attune_probe_)/ { print $3 }' | sort -u)
[ -n "$functions" ] || { echo "wrap_probe: the objects take the place of nothing" >&2; exit 1; }
"$ld" -r -o "$object" "$@"
for function in $functions; do printf '%s __wrap_%s\n' "$function" "$function"; done >"$options"
"$objcopy" --redefine-syms="$options" "$object"
{
  printf -- '-Wl,--undefined=attune_probe_real\n'  # also in a program that calls none of them
  for function in $functions; do printf -- '-Wl,--wrap=%s\n' "$function"; done
} >"$options"
