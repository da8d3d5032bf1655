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

/// The thread's state with a table; claims a slot at its first use. nullptr: none available. (Defined in account.cpp,
/// for FindEntry.)
ThreadState* ThreadWithTable();

/// Reserves the next position, by one instruction, so that a signal handler that traces gets another position.
[[gnu::always_inline]] inline uint64_t ReserveTrace(wire::RingSlot* slot) {
#if defined(__x86_64__)
  uint64_t position = 1;
  __asm__ volatile("xaddq %0, %1" : "+r"(position), "+m"(slot->trace_head) : : "memory", "cc");
  return position;
#else
  return __atomic_fetch_add(&slot->trace_head, 1, __ATOMIC_RELAXED);
#endif
}

/// Whether the time of the next word is due; also true if the thread has no trace yet.
[[gnu::always_inline]] inline bool TimeIsDue(const ThreadState* state) {
  return __builtin_expect(state->slot->trace_head >= state->trace_due, 0);
}

/// Whether the next word has a time.
[[gnu::always_inline]] inline bool NextIsStamped(const ThreadState* state) {
  return TimeIsDue(state) || __builtin_expect(SyncLevel() == wire::kRingLevelStamped, 0);
}

/// Sets the position of the next due time. @param ticks time of the next word
void SpaceTimes(ThreadState* state, uint64_t ticks);
/// Reads the clock for the next word, whose time is due.
[[gnu::noinline]] uint64_t DueTime(ThreadState* state);

/// The time of the next word, to be read before its operation is over; 0: it has none. @pre the state has a slot
[[gnu::always_inline]] inline uint64_t TraceTime(ThreadState* state) {
  return NextIsStamped(state) ? DueTime(state) : 0;
}

/// The slow path of Trace: creates a missing trace or definition, and writes a kClock word if needed.
/// @param definition cache of the definition's number; 0: it is looked up and stored there. nullptr: no cache
[[gnu::noinline]] void TraceSlowly(TraceOp op, uint64_t object, uint64_t site, SyncKind kind, uint16_t* definition,
                                   uint64_t ticks);

/// Whether the thread has a trace and the entry a definition; false before the first event of either.
[[gnu::always_inline]] inline bool IsTraced(const ThreadState* state, const SyncEntry* entry) {
  return __builtin_expect(state->trace != nullptr && entry->definition != 0, 1);
}

/// Writes one word. @pre IsTraced() @param ticks 0: it has no time
[[gnu::always_inline]] inline void PutTraced(ThreadState* state, TraceOp op, const SyncEntry* entry, uint64_t ticks) {
  const uint64_t at = ReserveTrace(state->slot);
  const uint64_t lap = (at & (state->trace_mask + 1)) != 0;
  state->trace[at & state->trace_mask] = wire::TraceWord(op, lap, entry->definition, ticks);
}

/// Whether a time is too far from the last kClock word to be unambiguous in a word. A time before that word (of a
/// nested event) counts as far.
[[gnu::always_inline]] inline bool IsBeyondClock(const ThreadState* state, uint64_t ticks) {
  return __builtin_expect(ticks - state->trace_clock > wire::kTraceTimeMask / 2, 0);
}

/// Writes one word, and creates what is missing for it. @param ticks 0: it has no time
[[gnu::always_inline]] inline void Trace(ThreadState* state, TraceOp op, SyncEntry* entry, uint64_t ticks) {
  if (!IsTraced(state, entry) || (ticks != 0 && IsBeyondClock(state, ticks)))
    return TraceSlowly(op, entry->object, entry->site, static_cast<SyncKind>(entry->kind), &entry->definition, ticks);
  PutTraced(state, op, entry, ticks);
}

}  // namespace attune::probe::hook
