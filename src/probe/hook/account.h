#pragma once
/// What the functions of the hook folder record: acquisitions in the thread's table, waits as events.

#include <stdint.h>

#include "probe/core.h"
#include "wire/sync.h"

namespace attune::probe::hook {

using wire::SyncEntry;
using wire::SyncKind;

/// Whether anybody listens. @cost one relaxed load
inline bool Recording() {
  return __builtin_expect(__atomic_load_n(g_sync_level, __ATOMIC_RELAXED) != wire::kRingLevelOff, 0);
}

inline uint64_t Address(const void* object) { return reinterpret_cast<uintptr_t>(object); }

/// The entry of (object, site, kind), made if it is new. nullptr: no slot, or the table is full (counted).
[[gnu::noinline]] SyncEntry* FindEntry(uint64_t object, uint64_t site, SyncKind kind);

/// As FindEntry; quick for the entry that the thread used last.
[[gnu::always_inline]] inline SyncEntry* EntryOf(uint64_t object, uint64_t site, SyncKind kind) {
  const ThreadState* state = g_thread;
  if (__builtin_expect(reinterpret_cast<uintptr_t>(state) > 1, 1)) {
    SyncEntry* last = state->last;
    if (__builtin_expect(last != nullptr && last->object == object && last->site == site, 1) &&
        last->kind == static_cast<uint8_t>(kind))
      return last;
  }
  return FindEntry(object, site, kind);
}

/// From now until Released() the entry's hold time is taken, if there is room for it.
[[gnu::noinline]] void StartHold(SyncEntry* entry);
/// The object is about to be released: ends what StartHold began, if that was of this object.
[[gnu::noinline]] void EndHold(uint64_t object);

/// Counts an acquisition that did not wait.
[[gnu::always_inline]] inline void Acquired(const void* object, const void* site, SyncKind kind) {
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (__builtin_expect(entry == nullptr, 0)) return;
  const uint64_t count = ++entry->count;
  if (__builtin_expect(count % wire::kHoldSampling == 1, 0)) StartHold(entry);
}

/// Counts a call that can neither wait nor hold.
[[gnu::always_inline]] inline void Counted(const void* object, const void* site, SyncKind kind) {
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (__builtin_expect(entry != nullptr, 1)) ++entry->count;
}

/// Counts one that waited, and emits it. @param ticks_before before the wait; its end is now
/// @param came whether what was waited for came (else: time was up, or an error)
[[gnu::noinline]] void Waited(const void* object, const void* site, SyncKind kind, uint64_t ticks_before, bool came);

/// Whether a hold time of this thread is being taken.
inline bool HoldsSampled() {
  const ThreadState* state = g_thread;
  return reinterpret_cast<uintptr_t>(state) > 1 && __builtin_expect(state->held_count != 0, 0);
}

}  // namespace attune::probe::hook
