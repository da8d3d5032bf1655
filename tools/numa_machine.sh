#!/usr/bin/env bash
# Runs attune on a machine with two NUMA nodes that is none: Debian's kernel in QEMU, all in software, with two CPUs and a
# node each. Memory of the other node is no slower there, but it is elsewhere, as the kernel says.
#
# Usage: tools/numa_machine.sh BUILD-FOLDER COMMAND...
#   COMMAND  shell commands, run one after the other as root in a folder of their own; `attune` is on the PATH, and the
#            build folder is where it is here. What they print, and their exit codes, are printed
#
# Needs qemu-system-x86 and busybox-static (installed by ./dev test --full), and a Debian mirror for the kernel, which is
# kept in BUILD-FOLDER/numa_machine.
#
# Example: tools/numa_machine.sh build/release "attune info" "attune run -o r.attune -- build/release/tests/truth/first_touch 0 1"
set -euo pipefail

kernel_package=linux-image-cloud-amd64

fail() {
  printf 'numa_machine: %s\n' "$*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
}

# Fetches and unpacks the kernel that the package stands for.
fetch_kernel() {
  local folder=$1 name
  if compgen -G "$folder/kernel/boot/vmlinuz-*" >/dev/null; then
    return
  fi
  name=$(apt-cache depends "$kernel_package" | sed -n 's/^ *Depends: //p' | head -n 1)
  [ -n "$name" ] || fail "there is no $kernel_package: is this Debian 12, and was apt-get update run?"
  mkdir -p "$folder/kernel"
  (cd "$folder" && apt-get download "$name" >/dev/null 2>&1) || fail "cannot fetch $name"
  dpkg-deb -x "$folder/$name"_*.deb "$folder/kernel"
}

# Copies a file with the libraries that it loads to where they are.
add_with_libraries() {
  local root=$1 file=$2 path
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
  while read -r path; do
    [ -e "$root$path" ] || { mkdir -p "$root$(dirname "$path")" && cp -L "$path" "$root$path"; }
  done < <(ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true)
}

make_root() {
  local root=$1 build=$2 file
  rm -rf "$root"
  mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,root,etc}
  cp "$(command -v busybox)" "$root/bin/busybox"
  printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
  add_with_libraries "$root" "$build/bin/attune"
  for file in "$build"/lib/libattune_probe.so.* "$build"/tests/truth/*; do
    [ -f "$file" ] && [ -x "$file" ] && add_with_libraries "$root" "$file"
  done
  ln -s "$build/bin/attune" "$root/bin/attune"
}

# What the machine does: the commands, between marks that tell them from what the kernel prints.
make_init() {
  local root=$1 build=$2 command
  shift 2
  {
    printf '#!/bin/busybox sh\n'
    printf '/bin/busybox --install -s /bin\n'
    printf 'mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev\n'
    printf 'mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp\n'
    printf 'export PATH=/bin HOME=/tmp; cd /\n'
    printf 'mkdir -p %q; ln -s %q /build\n' "$(dirname "$build")" "$(dirname "$build")"
    for command in "$@"; do
      printf 'echo "<<<<"; ( %s ) 2>&1; echo; echo ">>>> $?"\n' "$command"
    done
    printf 'poweroff -f\n'
  } >"$root/init"
  chmod +x "$root/init"
}

run_machine() {
  local folder=$1 seconds=$2
  timeout "$seconds" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -m 1536M -nodefaults -no-reboot \
    -display none -serial stdio -smp 2,sockets=2,cores=1,threads=1 \
    -object memory-backend-ram,id=m0,size=768M -object memory-backend-ram,id=m1,size=768M \
    -numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1 -numa dist,src=0,dst=1,val=20 \
    -kernel "$(compgen -G "$folder/kernel/boot/vmlinuz-*" | head -n 1)" -initrd "$folder/initrd" \
    -append "console=ttyS0 quiet panic=-1 numa_balancing=disable tsc=reliable"
}

main() {
  case ${1:-} in
    -h | --help | "")
      usage
      return
      ;;
  esac
  [ $# -ge 2 ] || fail "give a build folder and commands"
  local build folder
  build=$(cd "$1" 2>/dev/null && pwd) || fail "there is no folder $1"
  shift
  [ -x "$build/bin/attune" ] || fail "$build/bin/attune is not there: ./dev build"
  for tool in qemu-system-x86_64 busybox cpio; do
    command -v "$tool" >/dev/null || fail "$tool is not there: apt-get install qemu-system-x86 busybox-static cpio"
  done
  folder=$build/numa_machine
  mkdir -p "$folder"
  fetch_kernel "$folder"
  make_root "$folder/root" "$build"
  make_init "$folder/root" "$build" "$@"
  (cd "$folder/root" && find . | cpio -o -H newc --quiet >"$folder/initrd")
  run_machine "$folder" "${NUMA_MACHINE_SECONDS:-300}" </dev/null >"$folder/console.log" ||
    fail "the machine did not end: $folder/console.log"
  tr -d '\r' <"$folder/console.log" | sed -n '/^<<<<$/,/^>>>> /p' | grep -v '^<<<<$'
}

main "$@"
