#!/bin/sh
# Checks that the probe library is fit to live in any program: it needs libc.so.6 alone, imports nothing that allocates,
# prints, throws or ends the program, exports only its interface, cannot be unloaded, and has no writable and executable
# memory. Usage: check_probe_symbols.sh libattune_probe.so
set -eu
library=$1
failed=0
complain() {
  echo "check_probe_symbols: $library: $1" >&2
  failed=1
}

needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
case "$needed" in
  "libc.so.6 ") ;;
  # aarch64's C library keeps the symbol of initial-exec TLS in the loader.
  "ld-linux-aarch64.so.1 libc.so.6 ") ;;
  *) complain "needs $needed, not libc.so.6 alone" ;;
esac

# An allowlist: whoever adds a call has to think about signal handlers, seccomp and the heap first.
allowed=" __chk_fail __errno_location __getauxval __libc_single_threaded __register_atfork __stack_chk_fail __environ environ getenv __cxa_finalize __gmon_start__ _ITM_deregisterTMCloneTable
 _ITM_registerTMCloneTable __sched_cpucount clock_gettime close connect dl_iterate_phdr dladdr dlopen dlsym dlvsym fallocate fallocate64 fchmod fcntl fcntl64 fstat fstat64 ftruncate ftruncate64
 getpeername getpid getsockname getsockopt getrlimit getrlimit64 getauxval geteuid madvise memchr memcmp memfd_create memcpy memmove memset mmap mmap64 mprotect munmap prctl open open64 openat openat64
 pthread_getcpuclockid pthread_key_create pthread_key_delete pthread_self pthread_setspecific pthread_testcancel read readlink sched_getaffinity
 secure_getenv socket strchr strcspn strlen strcmp strncmp strnlen strrchr strspn strstr unlinkat "
allowed=$(printf '%s' "$allowed" | tr '\n' ' ')
for symbol in $(nm -D --undefined-only "$library" | sed 's/.* //; s/@.*//' | sort -u); do
  case " $allowed " in
    *" $symbol "*) ;;
    *) complain "imports $symbol, which is not on the list" ;;
  esac
done

for symbol in $(nm -D --defined-only "$library" | sed 's/.* //; s/@.*//'); do
  case "$symbol" in
    attune_probe_*) ;;
    # Those that it takes the place of.
    pthread_mutex_*lock | pthread_rwlock_*lock | pthread_spin_*lock | pthread_cond_* | pthread_barrier_wait) ;;
    sem_*wait | sem_post | pthread_join | pthread_*join_np) ;;
    mtx_*lock | cnd_wait | cnd_timedwait | cnd_signal | cnd_broadcast | thrd_join | call_once | pthread_once | syscall) ;;
    read | readv | pread | pread64 | preadv | preadv64 | __read_chk | __pread_chk | __pread64_chk) ;;
    flock | lockf | lockf64 | flockfile | ftrylockfile | funlockfile) ;;
    close | dup2 | dup3 | eventfd | eventfd_read | eventfd_write | prctl | socketpair | mq_*send | mq_*receive | msgsnd | msgrcv) ;;
    send | sendto | sendmsg | recv | recvfrom | recvmsg | __recv_chk | __recvfrom_chk) ;;
    pthread_create | thrd_create | wait | wait[34] | waitpid | waitid | pclose) ;;
    sched_yield | nanosleep | clock_nanosleep | usleep | sleep | thrd_sleep) ;;
    poll | ppoll | __poll_chk | __ppoll_chk | select | pselect | epoll_wait | epoll_pwait | epoll_pwait2) ;;
    exec[vl] | exec[vl]p | execve | execle | execvpe | fexecve | execveat | posix_spawn | posix_spawnp | system | popen) ;;
    write | writev | pwrite | pwrite64 | pwritev | pwritev64 | fsync | fdatasync) ;;
    ATTUNE_MPI | MPI_* | PMPI_* | mpi_*_) ;;  # the version that hides them from dlsym; C and Fortran
    GOMP_* | omp_*lock | omp_*lock_ | ompt_start_tool) ;;
    *) complain "exports $symbol" ;;
  esac
done

readelf -dW "$library" | grep -q 'FLAGS_1.*NODELETE' || complain "can be unloaded (link with -z nodelete)"
readelf -rW "$library" | grep -Eq 'DTPMOD|TLSDESC|TLS_DTP' && complain "does not use initial-exec TLS"
readelf -dW "$library" | grep -q 'TEXTREL' && complain "has text relocations"
readelf -lW "$library" | grep -Eq 'LOAD.* RWE ' && complain "has a segment that is writable and executable"
exit $failed
