#pragma once
/// Counts of acquisitions and waits: one table for each ring slot, in the ring file (wire/ring.h). Plain data, C11,
/// C++.
///
/// An event for each uncontended acquisition would cost more than the acquisition itself, so these are only counted, in
/// the entry of (object, site, kind). A wait is counted and is an event as well (EventKind::kWait), so that each wait
/// keeps its time. The sums of the entry are complete even if the ring had no room for the event.

#include <stdint.h>

#ifdef __cplusplus
namespace attune::wire {

/// Kinds of object that a thread acquires or waits for. Values never change their meaning.
enum class SyncKind : uint8_t {
  kNone = 0,
  kMutex = 1,         ///< pthread_mutex_*: acquired for writing
  kReadLock = 2,      ///< pthread_rwlock_*rdlock
  kWriteLock = 3,     ///< pthread_rwlock_*wrlock
  kSpinLock = 4,      ///< pthread_spin_*
  kCondition = 5,     ///< pthread_cond_*wait: from the call to its return, with the mutex again
  kBarrier = 6,       ///< pthread_barrier_wait
  kSemaphore = 7,     ///< sem_*wait
  kJoin = 8,          ///< pthread_join
  kWake = 9,          ///< pthread_cond_signal, pthread_cond_broadcast, sem_post, FUTEX_WAKE: no wait, only counted
  kFutex = 10,        ///< syscall(SYS_futex, ... FUTEX_WAIT): std::atomic::wait, std::barrier, Rust's locks
  kCritical = 11,     ///< GOMP_critical_*, GOMP_atomic_*
  kTeamBarrier = 12,  ///< the threads of an OpenMP team for each other: GOMP_barrier, the end of a loop or a region
  kTaskWait = 13,     ///< GOMP_taskwait, GOMP_taskgroup_end: without the tasks that the thread runs meanwhile
  kOrdered = 14,      ///< GOMP_ordered_start
  kOnce = 15,         ///< pthread_once, call_once: another thread executes it
  kFile = 16,    ///< read, write, fsync, ...: long calls. In rings any descriptor, the object is descriptor + 1; in
                 ///< recordings regular files and block devices only
  kMpi = 17,     ///< MPI_*: every call, and the time in it; the object is the function's number in wire/mpi_functions.h
  kCreate = 18,  ///< pthread_create, thrd_create: the time in the call
  kChild = 19,   ///< wait, waitpid, ...: until a child ends
  kSleep = 20,   ///< nanosleep, usleep, ...
  kPoll = 21,    ///< poll, select, epoll_wait with a time limit: long calls; those that ended by it are no acquisitions
  kFuture = 22,  ///< std::future::get, wait: FUTEX_WAIT in the C++ library; Future.result of Python: sem_*wait
  kIdle = 23,  ///< attune_idle_begin() to attune_idle_end(): a worker without work; instead of kCondition, kSemaphore,
               ///< kFutex
};
constexpr SyncKind kLastSyncKind = SyncKind::kIdle;

/// Whether it is a call that takes time, and no object that threads have in common.
constexpr bool IsCall(SyncKind kind) {
  return kind == SyncKind::kFile || kind == SyncKind::kMpi || (kind >= SyncKind::kCreate && kind <= SyncKind::kPoll);
}
/// Object of kCreate, kChild, kSleep and kPoll: all of a process are one.
constexpr uint64_t kCallObject = 1;
#endif

enum { kSyncEntryBytes = 64, kMaxSyncEntries = 1 << 14 };  ///< kMaxSyncEntries: per thread

/// One thread's use of one object at one call site. Written by the slot's owner only, word by word: a reader may see an
/// acquisition before its waiting time is added.
typedef struct SyncEntry {
  uint64_t object;   ///< address; 0: the entry is free
  uint64_t site;     ///< the caller's program counter (the instruction after the call)
  uint64_t count;    ///< acquisitions, or waits
  uint64_t wait;     ///< ticks spent waiting, all together
  uint64_t longest;  ///< ticks of the longest wait
  /// Locks: ticks between acquisition and release, of `holds` acquisitions (one in kHoldSampling). Else: ticks of the
  /// `holds` waits that ended without what was waited for (their time was up).
  uint64_t hold;
  uint32_t holds;
  uint32_t contended;   ///< acquisitions that had to wait
  uint8_t kind;         ///< SyncKind
  uint8_t orders;       ///< writer only: number of kLockOrder events because of a change, at most kMaxOrdersTold
  uint16_t definition;  ///< in the trace (wire/trace.h); 0: none yet
  uint32_t order;       ///< writer only: hash of the held locks at the last of these events
} SyncEntry;

/// A nested acquisition emits EventKind::kLockOrder if the held locks differ from those of the last such event of the
/// entry, at most so often; and at each acquisition whose number is a power of two.
enum { kMaxOrdersTold = 16 };

/// The hold time of one in so many acquisitions of an entry is measured.
enum { kHoldSampling = 64 };

#ifdef __cplusplus
static_assert(sizeof(SyncEntry) == kSyncEntryBytes);
}  // namespace attune::wire
#else
_Static_assert(sizeof(SyncEntry) == kSyncEntryBytes, "layout");
#endif
