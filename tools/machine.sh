#!/usr/bin/env bash
# Runs shell commands in an emulated machine: Debian's kernel in QEMU, all in software, with attune where it was built.
#
# Usage: tools/machine.sh [OPTIONS] arm64|amd64 COMMAND...
#   arm64     cortex-a72, with hardware counters of cycles and, because time is counted in instructions, of instructions
#   amd64     two NUMA nodes, with a CPU each. Memory of the other node is no slower there, but it is elsewhere, as the kernel says
#   COMMAND   shell commands, run one after the other as root. `attune` is on the PATH, and the build folder where it is here
#   --build FOLDER    attune and its test programs (default: build/arm64, build/release)
#   --add FILE        a program that is put on the PATH, with the libraries that it loads; can be given again
#   --cpus N          default: 1 on arm64, 2 on amd64
#   --nodes N         NUMA nodes among which CPUs and memory are divided (default: 1 on arm64, 2 on amd64)
#   --small N         arm64: so many of its CPUs are small cores, which have a PMU of their own (default: 0)
#   --memory MIB      default: 1024 on arm64, 1536 on amd64
#   --icount SHIFT    an instruction takes 2^SHIFT ns of the machine's time, or `off` (default: 1 on arm64, off on amd64)
#   --kernel PACKAGE  default: Debian 12's, linux-image-cloud-arm64 or -amd64
#   --seconds N       after which the machine is ended (default: 300)
#
# Prints the output of each command, then a line `>>>> CODE` with its exit code. Exit codes: 0 the machine ran all commands, whatever
# their codes; 1 it did not; 2 usage; 3 unavailable here (no QEMU for that architecture, no mirror of Debian). Kernel and
# busybox are kept in build/debian (tools/debian_root.sh).
#
# Examples: tools/machine.sh arm64 "uname -a" "attune doctor"
#           tools/machine.sh amd64 "attune info" "attune run -o r.attune -- build/release/tests/truth/first_touch 0 1"
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
added=()
declare -A option=([seconds]=300)

# fail CODE MESSAGE...
fail() {
  local code=$1
  shift
  printf 'machine: %s\n' "$*" >&2
  exit "$code"
}

usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
}

# Sets what was not given.
default() {
  option[$1]=${option[$1]:-$2}
}

set_defaults() {
  if [[ $arch == arm64 ]]; then
    default cpus 1 && default nodes 1 && default memory 1024 && default icount 1 && default build "$top/build/arm64"
  else
    default cpus 2 && default nodes 2 && default memory 1536 && default icount off && default build "$top/build/release"
  fi
  default kernel "linux-image-cloud-$arch" && default small 0
  local name
  for name in cpus nodes memory seconds; do
    [[ ${option[$name]} =~ ^[1-9][0-9]*$ ]] || fail 2 "--$name takes a number, not '${option[$name]}'"
  done
  [[ ${option[small]} =~ ^[0-9]+$ ]] || fail 2 "--small takes a number, not '${option[small]}'"
  ((option[small] < option[cpus])) || fail 2 "of ${option[cpus]} CPUs not all can be small cores"
  [[ $arch == arm64 || ${option[small]} == 0 ]] || fail 2 "--small is for arm64"
  ((option[cpus] >= option[nodes])) || fail 2 "a node without a CPU: give --cpus ${option[nodes]}"
}

check_tools() {
  local tool
  if [[ $arch == arm64 ]]; then qemu="qemu-system-aarch64"; else qemu="qemu-system-x86_64"; fi
  for tool in "$qemu" cpio readelf dtc; do
    command -v "$tool" >/dev/null || fail 3 "$tool is not there: ./dev setup machine"
  done
}

# The libraries that a program loads, with the loader. Those of another architecture lie in the folder that its packages were unpacked into.
libraries_of() {
  local file=$1 sysroot=$top/build/debian/$arch/sysroot name path
  if [[ $arch == "$(dpkg --print-architecture)" ]]; then
    ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true
    return
  fi
  readelf -ld "$file" 2>/dev/null | sed -nE 's/.*Shared library: \[(.*)\]/\1/p; s/.*program interpreter: .*\/(.*)\]/\1/p' |
    while read -r name; do
      path=$(compgen -G "$sysroot/usr/lib/$name" || compgen -G "$sysroot/usr/lib/*-linux-gnu/$name") || continue
      printf '%s\n' "$path"
    done
}

# add FILE PATH: copies a file, and to where the loader finds them the libraries that it loads.
add() {
  local file=$1 path=$2 library
  [[ ! -e $root$path ]] || return 0
  mkdir -p "$root$(dirname "$path")"
  cp -L "$file" "$root$path"
  while read -r library; do
    add "$library" "${library#"$top/build/debian/$arch/sysroot/usr"}"
  done < <(libraries_of "$file")
}

add_attune() {
  local build file
  if [[ ! -x ${option[build]}/bin/attune ]]; then
    printf 'machine: without attune: %s/bin/attune is not there\n' "${option[build]}" >&2
    return
  fi
  build=$(realpath "${option[build]}")
  for file in "$build/bin/attune" "$build"/lib/libattune_*.so.* "$build"/lib/attune/modules/*.so "$build"/tests/truth/*; do
    if [[ -f $file && -x $file ]]; then add "$file" "$file"; fi
  done
  ln -s "$build/bin/attune" "$root/bin/attune"
  ln -s "$(dirname "$build")" "$root/build"
}

make_root() {
  local file
  mkdir -p "$root"/{bin,lib,proc,sys,dev,tmp,run,root,etc}
  ln -s lib "$root/lib64"
  cp "$packages/bin/busybox" "$root/bin/busybox"
  printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
  add_attune
  for file in "${added[@]}"; do
    add "$file" "/bin/$(basename "$file")"
  done
}

# Writes /init: the commands, between marks that tell their output from the kernel's.
make_init() {
  local command
  {
    cat <<'TEXT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts; mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs tmp /tmp
mount -t tracefs tracing /sys/kernel/tracing; mount -t debugfs debug /sys/kernel/debug; mount -t bpf bpf /sys/fs/bpf
ip link set lo up
dmesg -n 1
export PATH=/bin HOME=/tmp; cd /
TEXT
    for command in "$@"; do
      # shellcheck disable=SC2016  # the machine's own variables
      printf 'echo "<<<<"; ( %s ) 2>&1; code=$?; echo; echo ">>>> $code"\n' "$command"
    done
    printf 'poweroff -f\n'
  } >"$root/init"
  chmod +x "$root/init"
}

# QEMU's options for CPUs, memory and nodes.
shape() {
  local cpus=${option[cpus]} nodes=${option[nodes]} each=$((option[memory] / option[nodes])) node other
  printf '%s\n' -m "$((each * nodes))M" -smp "$cpus,sockets=$cpus,cores=1,threads=1"
  ((nodes > 1)) || return 0
  for ((node = 0; node < nodes; node++)); do
    printf '%s\n' -object "memory-backend-ram,id=m$node,size=${each}M" -numa "node,nodeid=$node,memdev=m$node,cpus=$((cpus * node / nodes))-$((cpus * (node + 1) / nodes - 1))"
    for ((other = 0; other < node; other++)); do printf '%s\n' -numa "dist,src=$other,dst=$node,val=20"; done
  done
}

# Writes the device tree of a machine with small cores.
describe_small_cores() {
  "$qemu" "$@" -machine "virt,gic-version=3,dumpdtb=$folder/virt.dtb" -cpu cortex-a72 -nodefaults -display none 2>/dev/null
  dtc -q -I dtb -O dts "$folder/virt.dtb" | "$top/tools/small_cores.py" "${option[small]}" | dtc -q -I dts -O dtb -o "$folder/small.dtb"
}

# QEMU's options for the processor and its time, and the kernel's for the console.
processor() {
  local tcg=tcg,thread=multi
  [[ ${option[icount]} == off ]] || { tcg=tcg,thread=single && printf '%s\n' -icount "shift=${option[icount]}"; }
  if [[ $arch == arm64 ]]; then
    if ((option[small] > 0)); then printf '%s\n' -machine virt,gic-version=3 -dtb "$folder/small.dtb"; else printf '%s\n' -machine virt; fi
    printf '%s\n' -accel "$tcg" -cpu cortex-a72 -append "console=ttyAMA0 quiet panic=-1 numa_balancing=disable"
  else
    printf '%s\n' -machine q35 -accel "$tcg" -cpu max -append "console=ttyS0 quiet panic=-1 numa_balancing=disable tsc=reliable"
  fi
}

run_machine() {
  local kernel shape processor
  kernel=$(compgen -G "$packages/boot/vmlinuz-*" | head -n 1)
  mapfile -t shape < <(shape)
  ((option[small] == 0)) || describe_small_cores "${shape[@]}" || return
  mapfile -t processor < <(processor)
  timeout "${option[seconds]}" "$qemu" "${shape[@]}" "${processor[@]}" -nodefaults -no-reboot -display none -serial stdio \
    -kernel "$kernel" -initrd "$folder/initrd" </dev/null 2>&1 | tr -d '\r' >"$folder/console"
}

# Prints the commands' part of the console.
show_output() {
  sed -n '/^<<<<$/,/^>>>> /p' "$folder/console" | grep -v '^<<<<$' || true
}

main() {
  while [[ ${1:-} == -* ]]; do
    case $1 in
      -h | --help) usage && return ;;
      --add)
        [[ -f ${2:-} && -x $2 ]] || fail 2 "--add takes a program, not '${2:-}'"
        added+=("$2")
        ;;
      --build | --cpus | --nodes | --small | --memory | --icount | --kernel | --seconds) option[${1#--}]=${2:-} ;;
      *) fail 2 "unknown option $1 (see --help)" ;;
    esac
    shift $(($# > 1 ? 2 : 1))
  done
  [[ $# -ge 2 && $1 =~ ^(arm64|amd64)$ ]] || fail 2 "give arm64 or amd64, and commands (see --help)"
  arch=$1
  shift
  [[ $1 != -* ]] || fail 2 "options stand before $arch"
  set_defaults
  check_tools
  packages=$top/build/debian/$arch/machine-${option[kernel]}
  "$top/tools/debian_root.sh" --alone "$arch" "$packages" "${option[kernel]}" busybox-static || fail $? "no kernel"
  folder=$(mktemp -d) root=$folder/root
  trap 'rm -rf "$folder"' EXIT
  make_root
  make_init "$@"
  (cd "$root" && find . | cpio -o -H newc --quiet >"$folder/initrd")
  if ! run_machine || [[ $(show_output | grep -c '^>>>> ') -lt $# ]]; then
    show_output
    fail 1 "the machine did not run all commands; it printed last: $(tail -n 3 "$folder/console")"
  fi
  show_output
}

main "$@"
