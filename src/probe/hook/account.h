#pragma once
/// Recording of the hooks: acquisitions in the thread's table, waits as events.

#include <stdint.h>

#include "probe/core.h"
#include "probe/hook/trace.h"
#include "wire/sync.h"

namespace attune::probe::hook {

/// Whether locks and waits are recorded now. @cost one relaxed load
inline bool Recording() { return __builtin_expect(SyncLevel() != wire::kRingLevelOff, 0); }

inline uint64_t Address(const void* object) { return reinterpret_cast<uintptr_t>(object); }

/// Stack address of the thread's outermost call of MPI; 0: none. The library's own calls are deeper.
extern __thread uintptr_t g_mpi_stack __attribute__((tls_model("initial-exec")));

/// Whether an acquisition or wait is inside a call of MPI, whose time is recorded as a whole. The library's own locks
/// (thousands, in Open MPI) would leave no room in the table for those of the program.
inline bool IsPartOfMpi(SyncKind kind) {
  return __builtin_expect(g_mpi_stack != 0, 0) && kind != SyncKind::kMpi && kind != SyncKind::kFile;
}

/// The kind of a wait until another thread wakes this one: of a worker without work it is no wait for anything.
inline SyncKind MeantBy(SyncKind kind) {
  const bool is_woken = kind == SyncKind::kCondition || kind == SyncKind::kSemaphore || kind == SyncKind::kFutex;
  return __builtin_expect(g_idle, 0) && is_woken ? SyncKind::kIdle : kind;
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

/// Whether lock holders are recorded (level blame or above).
inline bool Blaming() { return SyncLevel() >= wire::kRingLevelBlame; }

/// The thread holds the object from now until EndHold(). @param since ticks; 0, kUntimed: the hold is not timed
[[gnu::noinline]] void StartHold(uint64_t object, SyncEntry* entry, uint64_t since);
/// The same after a wait whose event is deferred until the release, since other threads wait for the object now.
/// @param since not 0  @param ended end of the wait
void StartWaitedHold(uint64_t object, SyncEntry* entry, uint64_t since, uint64_t ended, uint64_t waited);
/// Ends a hold. Call it after the release.
/// @param index FindHeld() before the release  @param now ticks before the release; only used if the hold is timed
/// @return the acquisition; its entry is nullptr if a signal handler needed its place meanwhile
[[gnu::noinline]] ThreadState::Held EndHold(uint64_t object, uint32_t index, uint64_t now);
/// Emits the deferred wait of a hold that EndHold() ended. Call it after the release. @pre held.IsToBeTold()
[[gnu::noinline]] void TellWait(const ThreadState::Held& held);
/// Traces the release of a hold that EndHold() ended. Call it after the release. @param ticks TraceTime() before it
[[gnu::noinline]] void TraceReleased(uint64_t object, SyncEntry* entry, uint64_t ticks);

/// Records a lock handoff: a release while others waited. Call it after the release. At level blame one event
/// represents all handoffs of an entry that follow each other within kShortWaitTicks (EventKind::kHandOver).
/// @param ticks before the release
[[gnu::noinline]] void ReleasedAwaited(const void* object, const SyncEntry* entry, SyncKind kind, uint64_t ticks);
/// Emits a kHandOver: a release or signal while others waited for the object.
/// @param ticks its time  @param site of the acquisition, or of the signal
[[gnu::noinline]] void HandedOver(const void* object, uint64_t site, SyncKind kind, uint64_t ticks);

/// Whether this thread holds an object with a known acquisition.
inline bool HoldsAny() {
  const ThreadState* state = g_thread;
  return reinterpret_cast<uintptr_t>(state) > 1 && __builtin_expect(state->held_count != 0, 0);
}

/// Emits kLockOrder events for an acquisition while holding other objects, as often as wire::kMaxOrdersTold permits.
/// @pre the object is not among the held ones yet  @param ticks its time; 0: now
[[gnu::noinline]] void NoteOrder(uint64_t object, SyncEntry* entry, uint64_t ticks);

inline constexpr uint32_t kMaxHeld = sizeof(ThreadState::held) / sizeof(ThreadState::Held);

/// Index of the object among those that this thread holds; kMaxHeld: not held. @pre HoldsAny()
inline uint32_t FindHeld(uint64_t object) {
  const ThreadState* state = g_thread;
  for (uint32_t i = state->held_count; i-- > 0;) {
    if (state->held[i].object == object) return i;
  }
  return kMaxHeld;
}

/// Whether objects of the kind are held from acquisition to release.
inline bool IsHeld(SyncKind kind) {
  return kind == SyncKind::kMutex || kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock ||
         kind == SyncKind::kSpinLock || kind == SyncKind::kCritical;
}

/// Behaviour of a call whose object is taken. A call that gives up cannot be part of a deadlock.
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

// Held objects are a stack. A signal handler that locks and unlocks may run between any two of these stores; its own
// entries are gone when it returns. So an entry is reserved before it is filled, and cleared before it is freed.

/// @pre there is room
[[gnu::always_inline]] inline void PushHeld(ThreadState* state, uint64_t object, SyncEntry* entry, uint64_t since) {
  ThreadState::Held& held = state->held[state->held_count++];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  // A single store, because each store delays the next lock.
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

/// The last used entry of the thread, if it has the same object, site and kind, and no time is due now; else nullptr.
[[gnu::always_inline]] inline SyncEntry* LastEntry(const ThreadState* state, const void* object, const void* site,
                                                   SyncKind kind) {
  if (__builtin_expect(reinterpret_cast<uintptr_t>(state) <= 1, 0)) return nullptr;
  SyncEntry* last = state->last;
  if (__builtin_expect(last == nullptr, 0) || last->object != Address(object) || last->site != Address(site) ||
      last->kind != static_cast<uint8_t>(kind))
    return nullptr;
  return __builtin_expect((last->count + 1) % wire::kHoldSampling == 1, 0) ? nullptr : last;
}

/// As Acquired, for a repeated acquisition of the same object at the same site without a time.
/// @param level below trace  @return false: nothing was done
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

/// As AcquiredAgain, traced without a time. Makes no call, so that no registers are saved: each store delays the next
/// lock.
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

/// The last entry, if the same acquisition is repeated and can be traced with a time without a call; else nullptr.
[[gnu::always_inline]] inline SyncEntry* StampableAgain(const ThreadState* state, const void* object, const void* site,
                                                        SyncKind kind) {
  SyncEntry* last = LastEntry(state, object, site, kind);
  const bool is_stampable = last != nullptr && __builtin_expect(state->held_count < kMaxHeld, 1) &&
                            IsTraced(state, last) && g_process.clock_is_tsc;
  return is_stampable ? last : nullptr;
}

/// Whether the thread has acquisitions that bypassed the probe and are in no entry yet. @pre mutexes do not pass now
inline bool HasPassed() {
  const ThreadState* state = g_thread;
  return reinterpret_cast<uintptr_t>(state) > 1 && __builtin_expect(state->passed != 0, 0);
}

/// Whether the object is the thread's newest held one, and its hold is not timed. @pre HoldsAny()
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

/// Emits pending waits before the thread may sleep.
inline void TellEndedWaitsOfThread() {
  if (HoldsAny() && g_thread->limit == 0) TellEndedWaits(g_thread);
}

/// Writes the beginning wait to the thread's slot, where the session sees it even if the thread never wakes up.
/// @param ticks now  @return its entry; nullptr: none, and the wait is not in the slot
[[gnu::noinline]] SyncEntry* BeginWait(const void* object, const void* site, SyncKind kind, uint64_t ticks);
inline void EndWait() {
  const ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) > 1 && state->slot != nullptr)
    __atomic_store_n(&state->slot->wait_since, 0, __ATOMIC_RELAXED);
}

/// Counts a wait and emits it, at once or after the release of the object.
/// @param ticks_before before the wait  @param ticks_now after it
/// @param came whether the wait succeeded (else: timeout or error)
[[gnu::noinline]] void WaitedUntil(const void* object, const void* site, SyncKind kind, uint64_t ticks_before,
                                   uint64_t ticks_now, bool came);
/// The same for a wait that ends now.
inline void Waited(const void* object, const void* site, SyncKind kind, uint64_t ticks_before, bool came) {
  WaitedUntil(object, site, kind, ticks_before, Ticks(), came);
}

/// Claims the thread's slot, and makes the entry of a call that begins, so that what that emits is older than the call.
/// Keeps errno.
[[gnu::noinline]] void PrepareCall(SyncKind kind, const void* site);
/// Counts a call of a process-wide kind (wire::kCallObject) and emits it as a wait; kPoll is only counted.
/// @param is_served whether it ended for what was waited for
[[gnu::noinline]] void EndCall(SyncKind kind, const void* site, uint64_t before, uint64_t now, bool is_served);

/// As ThreadWithTable().
[[gnu::noinline]] ThreadState* ClaimKeepingErrno();

/// Writes a beginning call of a descriptor to the thread's slot, as BeginWait() does, but for a signal handler's within
/// a wait. @return whether it is there, and EndWait() is due
inline bool BeginCall(int file, const void* site, uint64_t ticks) {
  const ThreadState* state = g_thread;
  if (__builtin_expect(state == nullptr || (state != kRefused && state->slot == nullptr), 0))
    state = ClaimKeepingErrno();
  if (reinterpret_cast<uintptr_t>(state) <= 1 || g_mpi_stack != 0 || state->slot->wait_since != 0) return false;
  wire::RingSlot* slot = state->slot;
  slot->wait_kind = static_cast<uint32_t>(SyncKind::kFile);
  slot->wait_owner = 0;
  slot->wait_object = static_cast<uint64_t>(file) + 1;
  slot->wait_site = Address(site);
  __atomic_store_n(&slot->wait_since, ticks, __ATOMIC_RELEASE);
  return true;
}

/// Says whom the thread waits for. @pre between BeginWait() and EndWait()  @param tid 0: not known
inline void NoteOwner(uint32_t tid) {
  const ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) > 1 && state->slot != nullptr)
    __atomic_store_n(&state->slot->wait_owner, tid, __ATOMIC_RELAXED);
}

/// Emits a wait of another thread of this process that ends now. A wait of this thread must report the module of
/// `site`.
/// @param tid that thread  @param ticks length of the wait
[[gnu::noinline]] void OtherWaited(int32_t tid, const void* object, const void* site, SyncKind kind, uint64_t ticks);

}  // namespace attune::probe::hook
