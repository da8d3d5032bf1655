#pragma once
/// Levels trace and stamped: each acquisition and release as a word in the thread's trace (wire/trace.h).

#include <stdint.h>

#include "probe/core.h"
#include "wire/trace.h"

namespace attune::probe::hook {

using wire::SyncEntry;
using wire::SyncKind;
using wire::TraceOp;

inline uint32_t SyncLevel() { return __atomic_load_n(g_sync_level, __ATOMIC_RELAXED); }
/// As SyncLevel(), or kRingMutexesPass.
inline uint32_t MutexLevel() { return __atomic_load_n(g_sync_level + 1, __ATOMIC_RELAXED); }
inline bool Tracing() { return SyncLevel() >= wire::kRingLevelTrace; }

/// The thread's state with a table; claims a slot for its first use. nullptr: none is to be had. (account.cpp, for
/// FindEntry, which calls it most.)
ThreadState* ThreadWithTable();

/// Takes the next position. One instruction, so that a signal handler that traces too takes another one.
[[gnu::always_inline]] inline uint64_t ReserveTrace(wire::RingSlot* slot) {
#if defined(__x86_64__)
  uint64_t position = 1;
  __asm__ volatile("xaddq %0, %1" : "+r"(position), "+m"(slot->trace_head) : : "memory", "cc");
  return position;
#else
  return __atomic_fetch_add(&slot->trace_head, 1, __ATOMIC_RELAXED);
#endif
}

/// Whether it is the turn of the next word to have a time; true also where the thread has no trace yet.
[[gnu::always_inline]] inline bool TimeIsDue(const ThreadState* state) {
  return __builtin_expect(state->slot->trace_head >= state->trace_due, 0);
}

/// Whether the next word has a time.
[[gnu::always_inline]] inline bool NextIsStamped(const ThreadState* state) {
  return TimeIsDue(state) || __builtin_expect(SyncLevel() == wire::kRingLevelStamped, 0);
}

/// The next word has this time: settles which one after it is due for one.
void SpaceTimes(ThreadState* state, uint64_t ticks);
/// Takes the time of the next word, whose turn it is.
[[gnu::noinline]] uint64_t DueTime(ThreadState* state);

/// The time of the next word, to be asked for before what it tells of is over; 0: it has none. @pre state's slot is
/// there
[[gnu::always_inline]] inline uint64_t TraceTime(ThreadState* state) {
  return NextIsStamped(state) ? DueTime(state) : 0;
}

/// As Trace, whatever is missing: the thread's trace, the definition, a word that says when this is.
/// @param definition where the object's is kept; 0: it is looked for, and kept there. nullptr: it is not kept
[[gnu::noinline]] void TraceSlowly(TraceOp op, uint64_t object, uint64_t site, SyncKind kind, uint16_t* definition,
                                   uint64_t ticks);

/// Whether the thread has its trace, and the entry its number: what the first event of each is without.
[[gnu::always_inline]] inline bool IsTraced(const ThreadState* state, const SyncEntry* entry) {
  return __builtin_expect(state->trace != nullptr && entry->definition != 0, 1);
}

/// Writes one word. @pre IsTraced() @param ticks 0: it has no time
[[gnu::always_inline]] inline void PutTraced(ThreadState* state, TraceOp op, const SyncEntry* entry, uint64_t ticks) {
  const uint64_t at = ReserveTrace(state->slot);
  const uint64_t lap = (at & (state->trace_mask + 1)) != 0;
  state->trace[at & state->trace_mask] = wire::TraceWord(op, lap, entry->definition, ticks);
}

/// Whether a time is so much later than the last clock, or so little earlier, that a word alone does not tell it. One
/// that lies before the last clock's (of a nested one) is far behind it by this reckoning.
[[gnu::always_inline]] inline bool IsBeyondClock(const ThreadState* state, uint64_t ticks) {
  return __builtin_expect(ticks - state->trace_clock > wire::kTraceTimeMask / 2, 0);
}

/// Writes one word, whatever is missing for it. @param ticks 0: it has no time
[[gnu::always_inline]] inline void Trace(ThreadState* state, TraceOp op, SyncEntry* entry, uint64_t ticks) {
  if (!IsTraced(state, entry) || (ticks != 0 && IsBeyondClock(state, ticks)))
    return TraceSlowly(op, entry->object, entry->site, static_cast<SyncKind>(entry->kind), &entry->definition, ticks);
  PutTraced(state, op, entry, ticks);
}

}  // namespace attune::probe::hook
