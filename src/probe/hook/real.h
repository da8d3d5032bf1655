#pragma once
/// The C library's real functions behind the probe's hooks.
///
/// In the preloaded library, each pointer first leads to a function that runs Resolve(), so that calls before our
/// constructor (by another library's constructor, or the loader) reach the real function too. In a static program the
/// pointers are valid from the start.

#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

namespace attune::probe::hook {

/// Arguments, or an environment, as execve takes them.
using Words = char* const*;

// X(result, name, (parameters), (arguments), version): the symbol version, if the linker's default would be another
// function; else "".
#define ATTUNE_HOOKS(X)                                                                                               \
  X(long, syscall, (long number, long a, long b, long c, long d, long e, long f), (number, a, b, c, d, e, f), "")     \
  X(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), "")                                                  \
  X(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex), "")                                               \
  X(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex), "")                                                \
  X(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const timespec* limit), (mutex, limit), "")               \
  X(int, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const timespec* limit),                  \
    (mutex, clock, limit), "")                                                                                        \
  X(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), "")                                                \
  X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock), "")                                             \
  X(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const timespec* limit), (lock, limit), "")             \
  X(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, const timespec* limit),               \
    (lock, clock, limit), "")                                                                                         \
  X(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), "")                                                \
  X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), (lock), "")                                             \
  X(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const timespec* limit), (lock, limit), "")             \
  X(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, const timespec* limit),               \
    (lock, clock, limit), "")                                                                                         \
  X(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock), "")                                                \
  X(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock), "")                                                  \
  X(int, pthread_spin_trylock, (pthread_spinlock_t * lock), (lock), "")                                               \
  X(int, pthread_spin_unlock, (pthread_spinlock_t * lock), (lock), "")                                                \
  X(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t * mutex), (condition, mutex), "GLIBC_2.3.2") \
  X(int, pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t * mutex, const timespec* limit),        \
    (condition, mutex, limit), "GLIBC_2.3.2")                                                                         \
  X(int, pthread_cond_clockwait,                                                                                      \
    (pthread_cond_t * condition, pthread_mutex_t * mutex, clockid_t clock, const timespec* limit),                    \
    (condition, mutex, clock, limit), "")                                                                             \
  X(int, pthread_cond_signal, (pthread_cond_t * condition), (condition), "GLIBC_2.3.2")                               \
  X(int, pthread_cond_broadcast, (pthread_cond_t * condition), (condition), "GLIBC_2.3.2")                            \
  X(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier), "")                                          \
  X(int, sem_wait, (sem_t * semaphore), (semaphore), "")                                                              \
  X(int, sem_trywait, (sem_t * semaphore), (semaphore), "")                                                           \
  X(int, sem_timedwait, (sem_t * semaphore, const timespec* limit), (semaphore, limit), "")                           \
  X(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* limit), (semaphore, clock, limit), "")   \
  X(int, sem_post, (sem_t * semaphore), (semaphore), "")                                                              \
  X(int, pthread_join, (pthread_t thread, void** result), (thread, result), "")                                       \
  X(int, pthread_timedjoin_np, (pthread_t thread, void** result, const timespec* limit), (thread, result, limit), "") \
  X(int, pthread_clockjoin_np, (pthread_t thread, void** result, clockid_t clock, const timespec* limit),             \
    (thread, result, clock, limit), "")                                                                               \
  X(int, pthread_create, (pthread_t * thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument), \
    (thread, attributes, run, argument), "")                                                                          \
  X(int, thrd_create, (thrd_t * thread, thrd_start_t run, void* argument), (thread, run, argument), "")               \
  X(pid_t, wait, (int* status), (status), "")                                                                         \
  X(pid_t, waitpid, (pid_t pid, int* status, int options), (pid, status, options), "")                                \
  X(pid_t, wait3, (int* status, int options, rusage* usage), (status, options, usage), "")                            \
  X(pid_t, wait4, (pid_t pid, int* status, int options, rusage* usage), (pid, status, options, usage), "")            \
  X(int, pclose, (FILE * pipe), (pipe), "")                                                                           \
  X(int, waitid, (idtype_t type, id_t id, siginfo_t * info, int options), (type, id, info, options), "")              \
  X(int, nanosleep, (const timespec* time, timespec* left), (time, left), "")                                         \
  X(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left),                         \
    (clock, flags, time, left), "")                                                                                   \
  X(int, usleep, (useconds_t time), (time), "")                                                                       \
  X(unsigned, sleep, (unsigned time), (time), "")                                                                     \
  X(int, thrd_sleep, (const timespec* time, timespec* left), (time, left), "")                                        \
  X(int, poll, (pollfd * files, nfds_t count, int limit), (files, count, limit), "")                                  \
  X(int, ppoll, (pollfd * files, nfds_t count, const timespec* limit, const sigset_t* signals),                       \
    (files, count, limit, signals), "")                                                                               \
  X(int, select, (int count, fd_set* reads, fd_set* writes, fd_set* others, timeval* limit),                          \
    (count, reads, writes, others, limit), "")                                                                        \
  X(int, pselect,                                                                                                     \
    (int count, fd_set* reads, fd_set* writes, fd_set* others, const timespec* limit, const sigset_t* signals),       \
    (count, reads, writes, others, limit, signals), "")                                                               \
  X(int, epoll_wait, (int file, epoll_event* events, int room, int limit), (file, events, room, limit), "")           \
  X(int, epoll_pwait, (int file, epoll_event* events, int room, int limit, const sigset_t* signals),                  \
    (file, events, room, limit, signals), "")                                                                         \
  X(int, epoll_pwait2, (int file, epoll_event* events, int room, const timespec* limit, const sigset_t* signals),     \
    (file, events, room, limit, signals), "")                                                                         \
  X(int, mtx_lock, (mtx_t * mutex), (mutex), "")                                                                      \
  X(int, mtx_trylock, (mtx_t * mutex), (mutex), "")                                                                   \
  X(int, mtx_timedlock, (mtx_t * mutex, const timespec* limit), (mutex, limit), "")                                   \
  X(int, mtx_unlock, (mtx_t * mutex), (mutex), "")                                                                    \
  X(int, cnd_wait, (cnd_t * condition, mtx_t * mutex), (condition, mutex), "")                                        \
  X(int, cnd_timedwait, (cnd_t * condition, mtx_t * mutex, const timespec* limit), (condition, mutex, limit), "")     \
  X(int, cnd_signal, (cnd_t * condition), (condition), "")                                                            \
  X(int, cnd_broadcast, (cnd_t * condition), (condition), "")                                                         \
  X(int, thrd_join, (thrd_t thread, int* result), (thread, result), "")                                               \
  X(int, pthread_once, (pthread_once_t * control, void (*initialise)()), (control, initialise), "")                   \
  X(void, call_once, (once_flag * control, void (*initialise)()), (control, initialise), "")                          \
  X(ssize_t, read, (int file, void* to, size_t bytes), (file, to, bytes), "")                                         \
  X(ssize_t, pread, (int file, void* to, size_t bytes, off_t at), (file, to, bytes, at), "")                          \
  X(ssize_t, pread64, (int file, void* to, size_t bytes, off64_t at), (file, to, bytes, at), "")                      \
  X(ssize_t, readv, (int file, const iovec* to, int count), (file, to, count), "")                                    \
  X(ssize_t, preadv, (int file, const iovec* to, int count, off_t at), (file, to, count, at), "")                     \
  X(ssize_t, preadv64, (int file, const iovec* to, int count, off64_t at), (file, to, count, at), "")                 \
  X(ssize_t, write, (int file, const void* from, size_t bytes), (file, from, bytes), "")                              \
  X(ssize_t, pwrite, (int file, const void* from, size_t bytes, off_t at), (file, from, bytes, at), "")               \
  X(ssize_t, pwrite64, (int file, const void* from, size_t bytes, off64_t at), (file, from, bytes, at), "")           \
  X(ssize_t, writev, (int file, const iovec* from, int count), (file, from, count), "")                               \
  X(ssize_t, pwritev, (int file, const iovec* from, int count, off_t at), (file, from, count, at), "")                \
  X(ssize_t, pwritev64, (int file, const iovec* from, int count, off64_t at), (file, from, count, at), "")            \
  X(int, fsync, (int file), (file), "")                                                                               \
  X(int, fdatasync, (int file), (file), "")                                                                           \
  X(int, flock, (int file, int operation), (file, operation), "")                                                     \
  X(int, lockf, (int file, int operation, off_t bytes), (file, operation, bytes), "")                                 \
  X(int, lockf64, (int file, int operation, off64_t bytes), (file, operation, bytes), "")                             \
  X(void, flockfile, (FILE * stream), (stream), "")                                                                   \
  X(int, ftrylockfile, (FILE * stream), (stream), "")                                                                 \
  X(void, funlockfile, (FILE * stream), (stream), "")                                                                 \
  X(int, sched_yield, (), (), "")                                                                                     \
  X(int, eventfd, (unsigned count, int flags), (count, flags), "")                                                    \
  X(int, close, (int file), (file), "")                                                                               \
  X(int, dup2, (int from, int to), (from, to), "")                                                                    \
  X(int, dup3, (int from, int to, int flags), (from, to, flags), "")                                                  \
  X(int, socketpair, (int domain, int type, int protocol, int* ends), (domain, type, protocol, ends), "")             \
  X(ssize_t, send, (int file, const void* from, size_t bytes, int flags), (file, from, bytes, flags), "")             \
  X(ssize_t, sendto, (int file, const void* from, size_t bytes, int flags, const sockaddr* to, socklen_t to_bytes),   \
    (file, from, bytes, flags, to, to_bytes), "")                                                                     \
  X(ssize_t, sendmsg, (int file, const msghdr* from, int flags), (file, from, flags), "")                             \
  X(ssize_t, recv, (int file, void* to, size_t bytes, int flags), (file, to, bytes, flags), "")                       \
  X(ssize_t, recvfrom, (int file, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes),          \
    (file, to, bytes, flags, from, from_bytes), "")                                                                   \
  X(ssize_t, recvmsg, (int file, msghdr* to, int flags), (file, to, flags), "")                                       \
  X(int, mq_send, (mqd_t queue, const char* from, size_t bytes, unsigned priority), (queue, from, bytes, priority),   \
    "")                                                                                                               \
  X(int, mq_timedsend, (mqd_t queue, const char* from, size_t bytes, unsigned priority, const timespec* limit),       \
    (queue, from, bytes, priority, limit), "")                                                                        \
  X(ssize_t, mq_receive, (mqd_t queue, char* to, size_t bytes, unsigned* priority), (queue, to, bytes, priority), "") \
  X(ssize_t, mq_timedreceive, (mqd_t queue, char* to, size_t bytes, unsigned* priority, const timespec* limit),       \
    (queue, to, bytes, priority, limit), "")                                                                          \
  X(int, msgsnd, (int queue, const void* from, size_t bytes, int flags), (queue, from, bytes, flags), "")             \
  X(ssize_t, msgrcv, (int queue, void* to, size_t bytes, long type, int flags), (queue, to, bytes, type, flags), "")  \
  X(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d),                     \
    (option, a, b, c, d), "")                                                                                         \
  X(int, execve, (const char* path, Words arguments, Words environment), (path, arguments, environment), "")          \
  X(int, execv, (const char* path, Words arguments), (path, arguments), "")                                           \
  X(int, execvp, (const char* file, Words arguments), (file, arguments), "")                                          \
  X(int, execvpe, (const char* file, Words arguments, Words environment), (file, arguments, environment), "")         \
  X(int, fexecve, (int file, Words arguments, Words environment), (file, arguments, environment), "")                 \
  X(int, execveat, (int folder, const char* path, Words arguments, Words environment, int flags),                     \
    (folder, path, arguments, environment, flags), "")                                                                \
  X(int, posix_spawn,                                                                                                 \
    (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,   \
     Words arguments, Words environment),                                                                             \
    (pid, path, actions, attributes, arguments, environment), "GLIBC_2.15")                                           \
  X(int, posix_spawnp,                                                                                                \
    (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,   \
     Words arguments, Words environment),                                                                             \
    (pid, file, actions, attributes, arguments, environment), "GLIBC_2.15")                                           \
  X(int, system, (const char* command), (command), "")                                                                \
  X(FILE*, popen, (const char* command, const char* mode), (command, mode), "")

#define ATTUNE_REAL_POINTER(result, name, parameters, arguments, version) result(*name) parameters;
struct Real {
  ATTUNE_HOOKS(ATTUNE_REAL_POINTER)
};
#undef ATTUNE_REAL_POINTER

extern Real g_real __asm__("attune_probe_real");  // futex.cpp names it

/// Fills g_real. Functions that this C library lacks become one that fails with ENOSYS. Idempotent.
void Resolve();

/// Whether this copy of the probe records the program's calls. False for the linked copy in a dynamic program: the
/// preloaded library records there, and each call would be recorded twice.
bool IsInPlace();

}  // namespace attune::probe::hook
