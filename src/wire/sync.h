#pragma once
/// What the probe counts of waiting: one table a ring slot, in the ring file (wire/ring.h). Plain data, C11 and C++.
///
/// An uncontended acquisition is so common that an event for each would cost more than the acquisition itself: it is
/// counted in the entry of (object, site, kind). What really waits is an event as well (EventKind::kWait), so that
/// nothing of waiting is averaged away; the entry's sums hold even where the ring had no room for the event.

#include <stdint.h>

#ifdef __cplusplus
namespace attune::wire {

/// What a thread acquires or waits for. Values never change their meaning.
enum class SyncKind : uint8_t {
  kNone = 0,
  kMutex = 1,      ///< pthread_mutex_*: acquired for writing
  kReadLock = 2,   ///< pthread_rwlock_*rdlock
  kWriteLock = 3,  ///< pthread_rwlock_*wrlock
  kSpinLock = 4,   ///< pthread_spin_*
  kCondition = 5,  ///< pthread_cond_*wait: from the call to its return, with the mutex again
  kBarrier = 6,    ///< pthread_barrier_wait
  kSemaphore = 7,  ///< sem_*wait
  kJoin = 8,       ///< pthread_join
  kWake = 9,       ///< pthread_cond_signal, pthread_cond_broadcast, sem_post, FUTEX_WAKE: nobody waits, it is counted
  kFutex = 10,     ///< syscall(SYS_futex, ... FUTEX_WAIT): std::atomic::wait, std::barrier, Rust's locks
  kCritical = 11,  ///< GOMP_critical_*, GOMP_atomic_*
  kTeamBarrier = 12,  ///< the threads of an OpenMP team for each other: GOMP_barrier, the end of a loop or a region
  kTaskWait = 13,     ///< GOMP_taskwait, GOMP_taskgroup_end: less the tasks that the thread itself did meanwhile
  kOrdered = 14,      ///< GOMP_ordered_start
  kOnce = 15,         ///< pthread_once, call_once: another thread is at it
  kFile = 16,  ///< read, write, fsync, ...: calls that took long. In rings of any descriptor, of which 1 more is the
               ///< object; in recordings of files and block devices alone
  kMpi = 17,   ///< MPI_*: every call, and the time in it; the object is the function's number in wire/mpi_functions.h
};
constexpr SyncKind kLastSyncKind = SyncKind::kMpi;
#endif

enum { kSyncEntryBytes = 64, kMaxSyncEntries = 1 << 14 };  ///< of one thread

/// One object at one place in the code, as one thread used it. Written by the slot's owner alone, each word by itself:
/// a reader may see an acquisition of which the waiting is not added yet.
typedef struct SyncEntry {
  uint64_t object;   ///< address; 0: the entry is free
  uint64_t site;     ///< the caller's program counter (the instruction after the call)
  uint64_t count;    ///< acquisitions, or waits
  uint64_t wait;     ///< ticks spent waiting, all together
  uint64_t longest;  ///< ticks of the longest wait
  uint64_t hold;     ///< ticks between acquisition and release, of `holds` acquisitions (one in kHoldSampling)
  uint32_t holds;
  uint32_t contended;   ///< acquisitions that had to wait
  uint8_t kind;         ///< SyncKind
  uint8_t orders;       ///< of the writer alone: how often it told of what it had meanwhile, at most kMaxOrdersTold
  uint16_t definition;  ///< in the trace (wire/trace.h); 0: none yet
  uint32_t order;       ///< of the writer alone: what it had when it told so the last time, mixed into a number
} SyncEntry;

/// What a thread has when it acquires an entry's object is told (EventKind::kLockOrder) whenever it is something else
/// than the last time, so often; and at each acquisition whose number is a power of two.
enum { kMaxOrdersTold = 16 };

/// How many acquisitions of an entry there are for each of which the hold time is taken.
enum { kHoldSampling = 64 };

#ifdef __cplusplus
static_assert(sizeof(SyncEntry) == kSyncEntryBytes);
}  // namespace attune::wire
#else
_Static_assert(sizeof(SyncEntry) == kSyncEntryBytes, "layout");
#endif
