#pragma once
/// What the functions of the hook folder record: acquisitions in the thread's table, waits as events.

#include <stdint.h>

#include "probe/core.h"
#include "probe/hook/trace.h"
#include "wire/sync.h"

namespace attune::probe::hook {

/// Whether anybody listens. @cost one relaxed load
inline bool Recording() { return __builtin_expect(SyncLevel() != wire::kRingLevelOff, 0); }

inline uint64_t Address(const void* object) { return reinterpret_cast<uintptr_t>(object); }

/// The stack of the outermost call of MPI that the thread is in; 0: it is in none. The library's own calls lie deeper.
extern __thread uintptr_t g_mpi_stack __attribute__((tls_model("initial-exec")));

/// Whether what is acquired or waited for is a part of a call of MPI, whose time is recorded as a whole: the locks of a
/// library's own (thousands, in Open MPI) would leave no room for those of the program.
inline bool IsPartOfMpi(SyncKind kind) {
  return __builtin_expect(g_mpi_stack != 0, 0) && kind != SyncKind::kMpi && kind != SyncKind::kFile;
}

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

/// Whether those who wait shall know who made them wait.
inline bool Blaming() { return SyncLevel() >= wire::kRingLevelBlame; }

/// The thread has the object from now until EndHold(). @param since ticks; 0, kUntimed: its hold time is not taken
[[gnu::noinline]] void StartHold(uint64_t object, SyncEntry* entry, uint64_t since);
/// The same of an object that the thread waited for, of which the event is emitted behind its release: others wait for
/// it now. @param since not 0  @param ended when the wait was over
void StartWaitedHold(uint64_t object, SyncEntry* entry, uint64_t since, uint64_t ended, uint64_t waited);
/// Ends what StartHold began. To be called behind the release.
/// @param index FindHeld() in front of it  @param now ticks in front of it; only used where the hold is timed
/// @return the acquisition, of which the entry is nullptr: a signal handler that came meanwhile had no other room
[[gnu::noinline]] ThreadState::Held EndHold(uint64_t object, uint32_t index, uint64_t now);
/// Emits the wait for what EndHold ended. To be called behind the release. @pre held.IsToBeTold()
[[gnu::noinline]] void TellWait(const ThreadState::Held& held);
/// What EndHold ended is released now. To be called behind the release. @param ticks TraceTime() in front of it
[[gnu::noinline]] void TraceReleased(uint64_t object, SyncEntry* entry, uint64_t ticks);

/// The object was released while others waited for it. To be called behind the release. At level blame the first of
/// those of an entry that follow each other within kShortWaitTicks is told, and stands for them (EventKind::kHandOver).
/// @param ticks in front of the release
[[gnu::noinline]] void ReleasedAwaited(const void* object, const SyncEntry* entry, SyncKind kind, uint64_t ticks);
/// Emits that the object was released, or signalled, while others waited for it.
/// @param ticks when; @param site where it had been acquired, or is signalled
[[gnu::noinline]] void HandedOver(const void* object, uint64_t site, SyncKind kind, uint64_t ticks);

/// Whether this thread has anything of which it is known where it was acquired.
inline bool HoldsAny() {
  const ThreadState* state = g_thread;
  return reinterpret_cast<uintptr_t>(state) > 1 && __builtin_expect(state->held_count != 0, 0);
}

/// The thread acquired an object while it had others: emits what it had, as often as wire::kMaxOrdersTold says.
/// @pre the object is not among what it has yet  @param ticks when; 0: now
[[gnu::noinline]] void NoteOrder(uint64_t object, SyncEntry* entry, uint64_t ticks);

inline constexpr uint32_t kMaxHeld = sizeof(ThreadState::held) / sizeof(ThreadState::Held);

/// Where the object stands in what this thread has; kMaxHeld: nowhere. @pre HoldsAny()
inline uint32_t FindHeld(uint64_t object) {
  const ThreadState* state = g_thread;
  for (uint32_t i = state->held_count; i-- > 0;) {
    if (state->held[i].object == object) return i;
  }
  return kMaxHeld;
}

/// Whether the kind is something that a thread has from acquisition to release.
inline bool IsHeld(SyncKind kind) {
  return kind == SyncKind::kMutex || kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock ||
         kind == SyncKind::kSpinLock || kind == SyncKind::kCritical;
}

/// What a call does that finds its object taken. One that gives up can be part of no deadlock.
enum class IfTaken : uint8_t { kWaits, kGivesUp };

/// Counts an acquisition that did not wait.
[[gnu::always_inline]] inline void Acquired(const void* object, const void* site, SyncKind kind,
                                            IfTaken if_taken = IfTaken::kWaits) {
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (__builtin_expect(entry == nullptr, 0)) return;
  const bool is_timed = ++entry->count % wire::kHoldSampling == 1;
  if (if_taken == IfTaken::kWaits && HoldsAny()) NoteOrder(Address(object), entry, 0);
  if (__builtin_expect(is_timed || Blaming(), 0)) StartHold(Address(object), entry, is_timed ? TicksBehind() : 0);
}

// What is held is a stack. A signal handler that locks and unlocks may come between any two of these stores: what it
// puts on top is gone when it returns. So a place is taken before it is filled, and emptied before it is given back.

/// @pre there is room
[[gnu::always_inline]] inline void PushHeld(ThreadState* state, uint64_t object, SyncEntry* entry, uint64_t since) {
  ThreadState::Held& held = state->held[state->held_count++];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  // One store: each one before the next lock delays it.
  using EntryAndSince = uint64_t __attribute__((vector_size(16), aligned(8), may_alias));
  *reinterpret_cast<EntryAndSince*>(&held.entry) = EntryAndSince{reinterpret_cast<uintptr_t>(entry), since};
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  held.object = object;
}

/// @pre there is one
[[gnu::always_inline]] inline void PopHeld(ThreadState* state) {
  const uint32_t top = state->held_count - 1;
  state->held[top].object = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  state->held_count = top;
}

/// The entry that the thread used last, if it is of the object at the same place and no time is to be taken now.
[[gnu::always_inline]] inline SyncEntry* LastEntry(const ThreadState* state, const void* object, const void* site,
                                                   SyncKind kind) {
  if (__builtin_expect(reinterpret_cast<uintptr_t>(state) <= 1, 0)) return nullptr;
  SyncEntry* last = state->last;
  if (__builtin_expect(last == nullptr, 0) || last->object != Address(object) || last->site != Address(site) ||
      last->kind != static_cast<uint8_t>(kind))
    return nullptr;
  return __builtin_expect((last->count + 1) % wire::kHoldSampling == 1, 0) ? nullptr : last;
}

/// As Acquired, for what the thread acquired the last time at the same place too, where no time is to be taken.
/// @param level below trace @return false: nothing was done
[[gnu::always_inline]] inline bool AcquiredAgain(const void* object, const void* site, SyncKind kind, uint32_t level) {
  ThreadState* state = g_thread;
  SyncEntry* last = LastEntry(state, object, site, kind);
  if (last == nullptr) return false;
  if (level >= wire::kRingLevelBlame) {
    if (__builtin_expect(state->held_count >= kMaxHeld, 0)) return false;
    PushHeld(state, Address(object), last, 0);
  }
  ++last->count;
  return true;
}

/// As AcquiredAgain, where it is traced without a time. Makes no call, so that no registers are saved: each store
/// delays the next lock.
[[gnu::always_inline]] inline bool TracedAgain(const void* object, const void* site, SyncKind kind) {
  ThreadState* state = g_thread;
  SyncEntry* last = LastEntry(state, object, site, kind);
  if (last == nullptr || __builtin_expect(state->held_count >= kMaxHeld, 0) || last->definition == 0 ||
      TimeIsDue(state))
    return false;
  PushHeld(state, Address(object), last, 0);
  ++last->count;
  PutTraced(state, TraceOp::kAcquired, last, 0);
  return true;
}

/// What the thread acquired is what it acquired the last time, and can be traced with a time without a call.
[[gnu::always_inline]] inline SyncEntry* StampableAgain(const ThreadState* state, const void* object, const void* site,
                                                        SyncKind kind) {
  SyncEntry* last = LastEntry(state, object, site, kind);
  const bool is_stampable = last != nullptr && __builtin_expect(state->held_count < kMaxHeld, 1) &&
                            IsTraced(state, last) && g_process.clock_is_tsc;
  return is_stampable ? last : nullptr;
}

/// Whether the thread has taken mutexes that passed and are in no entry yet. @pre they do not pass now
inline bool HasPassed() {
  const ThreadState* state = g_thread;
  return reinterpret_cast<uintptr_t>(state) > 1 && __builtin_expect(state->passed != 0, 0);
}

/// Whether the thread acquired nothing after the object that it still has, and the object's time is not taken.
/// @pre HoldsAny()
[[gnu::always_inline]] inline bool IsHeldOnTop(const void* object) {
  const ThreadState::Held& held = g_thread->held[g_thread->held_count - 1];
  return held.object == Address(object) && held.since == 0;
}

/// Counts a call that can neither wait nor hold.
[[gnu::always_inline]] inline void Counted(const void* object, const void* site, SyncKind kind) {
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (__builtin_expect(entry == nullptr, 0)) return;
  ++entry->count;
  if (__builtin_expect(Tracing(), 0))
    Trace(g_thread, kind == SyncKind::kWake ? TraceOp::kSignalled : TraceOp::kAcquired, entry, TraceTime(g_thread));
}

/// Before the thread may sleep: what it has waited for before is told by then.
inline void TellEndedWaitsOfThread() {
  if (HoldsAny() && g_thread->limit == 0) TellEndedWaits(g_thread);
}

/// The thread is about to wait: whoever looks at its slot meanwhile, or when it will never wake up, knows for what.
/// @param ticks now  @return its entry; nullptr: there is none, and nobody knows
[[gnu::noinline]] SyncEntry* BeginWait(const void* object, const void* site, SyncKind kind, uint64_t ticks);
inline void EndWait() {
  const ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) > 1 && state->slot != nullptr)
    __atomic_store_n(&state->slot->wait_since, 0, __ATOMIC_RELAXED);
}

/// Counts one that waited, and emits it, or sees to it that this is done when what was waited for is released.
/// @param ticks_before before the wait  @param ticks_now behind it
/// @param came whether what was waited for came (else: time was up, or an error)
[[gnu::noinline]] void WaitedUntil(const void* object, const void* site, SyncKind kind, uint64_t ticks_before,
                                   uint64_t ticks_now, bool came);
/// The same of one that ends now.
inline void Waited(const void* object, const void* site, SyncKind kind, uint64_t ticks_before, bool came) {
  WaitedUntil(object, site, kind, ticks_before, Ticks(), came);
}

/// Emits what another thread of this process has waited, up to now. Its site is to be told by a wait of this thread's.
/// @param tid that thread  @param ticks how long
[[gnu::noinline]] void OtherWaited(int32_t tid, const void* object, const void* site, SyncKind kind, uint64_t ticks);

}  // namespace attune::probe::hook
