#include "probe/hook/account.h"

#include <errno.h>

#include "probe/hook/caller.h"
#include "probe/hook/module.h"
#include "probe/hook/telling_runtimes.h"

namespace attune::probe::hook {

constinit TellingRuntime g_telling_runtimes[kMaxTellingRuntimes] = {};

__thread uintptr_t g_mpi_stack __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constexpr uint32_t kMaxProbes = 16;

uint32_t Hash(uint64_t object, uint64_t site, SyncKind kind) {
  uint64_t mixed = (object ^ (site << 20) ^ static_cast<uint64_t>(kind)) * UINT64_C(0x9e3779b97f4a7c15);
  return static_cast<uint32_t>(mixed >> 32);
}

}  // namespace

ThreadState* ThreadWithTable() {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) > 1 && state->table != nullptr) return state;
  if (reinterpret_cast<uintptr_t>(state) > 1) g_thread = nullptr;  // a child made by fork: the slot is the parent's
  state = Claim();
  if (state == nullptr) return nullptr;
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
  return state;
}

ThreadState* ClaimKeepingErrno() {
  const int saved_errno = errno;
  ThreadState* state = ThreadWithTable();
  errno = saved_errno;
  return state;
}

SyncEntry* FindEntry(uint64_t object, uint64_t site, SyncKind kind) {
  if (IsPartOfMpi(kind)) return nullptr;
  ThreadState* state = ThreadWithTable();
  if (state == nullptr) return nullptr;
  const bool is_in_telling_runtime = IsInTellingRuntime(site);
  site = CallSite(object, site);
  const uint32_t hash = Hash(object, site, kind);
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    SyncEntry* entry = &state->table[(hash + probe) & state->table_mask];
    if (entry->object == 0) {
      if (is_in_telling_runtime) return nullptr;
      TellModule(site);  // first: whoever sees the site has seen its module
      // A signal handler that comes here now may take the same entry: the one that claims it first has it.
      uint64_t expected = 0;
      if (__atomic_compare_exchange_n(&entry->object, &expected, object, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        entry->site = site;
        entry->kind = static_cast<uint8_t>(kind);
      }
    }
    if (entry->object != object || entry->site != site || entry->kind != static_cast<uint8_t>(kind)) continue;
    state->last = entry;
    return entry;
  }
  ++state->slot->sync_lost;
  return nullptr;
}

void StartHold(uint64_t object, SyncEntry* entry, uint64_t since) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1) return;
  // Full: of locks that another thread released, or that are held for good. The newest are of more use.
  if (state->held_count >= kMaxHeld) {
    TellEndedWaitsOfThread();
    PopHeld(state);
  }
  PushHeld(state, object, entry, 0);
  ThreadState::Held& held = state->held[state->held_count - 1];
  held.ended = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  held.since = since;
  if (!Tracing()) return;
  const uint64_t ticks = held.IsTimed() ? since : TraceTime(state);
  if (held.IsTimed() && state->slot != nullptr) SpaceTimes(state, ticks);  // this one will do for the others too
  if (entry->object == object) {
    Trace(state, TraceOp::kAcquired, entry, ticks);
  } else {  // the mutex that a wait for a condition ends with
    TraceSlowly(TraceOp::kAcquired, object, entry->site, SyncKind::kMutex, nullptr, ticks);
  }
}

void StartWaitedHold(uint64_t object, SyncEntry* entry, uint64_t since, uint64_t ended, uint64_t waited) {
  StartHold(object, entry, since);
  ThreadState* state = g_thread;
  ThreadState::Held& held = state->held[state->held_count - 1];
  held.waited = waited;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  held.ended = ended;
  state->limit = 0;  // the next event comes behind this one
}

ThreadState::Held EndHold(uint64_t object, uint32_t index, uint64_t now) {
  ThreadState* state = g_thread;
  const ThreadState::Held held = state->held[index];
  if (index >= state->held_count || held.object != object) return {};
  if (held.IsTimed()) {
    held.entry->hold += now > held.since ? now - held.since : 0;
    ++held.entry->holds;
  }
  state->held[index] = state->held[state->held_count - 1];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  PopHeld(state);
  return held;
}

/// Puts a short wait to those before it, whose event is written in front of the thread's next one.
/// @return false: it is to be told by itself
bool AddShortWait(const ThreadState::Held& held) {
  ThreadState* state = g_thread;
  // A held object may have been waited for before this, and be told behind it.
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->busy != 0 || state->slot == nullptr || HoldsAny()) return false;
  ThreadState::ShortWaits& waits = state->short_waits;
  const bool goes_on =
      waits.count != 0 && waits.entry == held.entry && held.ended - waits.begin < wire::kShortWaitsTicks;
  if (!goes_on && waits.count != 0) TellEndedWaits(state);
  if (!goes_on && waits.count != 0) return false;  // no room: this one is counted as lost
  __atomic_store_n(&state->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (!goes_on) waits = {.entry = held.entry, .begin = held.ended - held.waited, .ended = 0, .waited = 0, .count = 0};
  waits.ended = held.ended;
  waits.waited += held.waited;
  ++waits.count;
  state->limit = 0;  // the next event comes behind this one
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
  return true;
}

void TellWait(const ThreadState::Held& held) {
  if (held.waited < wire::kShortWaitTicks && SyncLevel() < wire::kRingLevelTrace && AddShortWait(held)) return;
  EmitAt([&held] { return held.ended; }, wire::EventKind::kWait, held.entry->kind, 0, held.object, held.entry->site,
         held.waited);
}

void TraceReleased(uint64_t object, SyncEntry* entry, uint64_t ticks) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->slot == nullptr) return;
  if (entry->object == object) {
    Trace(state, TraceOp::kReleased, entry, ticks);
  } else {
    TraceSlowly(TraceOp::kReleased, object, entry->site, SyncKind::kMutex, nullptr, ticks);
  }
}

void NoteOrder(uint64_t object, SyncEntry* entry, uint64_t ticks) {
  ThreadState* state = g_thread;
  uint64_t mixed = 0;
  for (uint32_t i = 0; i < state->held_count; ++i) {
    const ThreadState::Held& held = state->held[i];
    if (held.object == object) return;  // once more: nobody can be in the way
    mixed = (mixed ^ held.object ^ held.entry->site << 20) * UINT64_C(0x9e3779b97f4a7c15);
  }
  const auto order = static_cast<uint32_t>(mixed >> 32);
  const bool is_power_of_two = (entry->count & (entry->count - 1)) == 0;
  const bool may_tell = state->orders_told < kMaxOrdersOfThread;
  if (may_tell && entry->order != order && entry->orders < wire::kMaxOrdersTold) {
    ++entry->orders;
    state->orders_told += state->held_count;  // an event each
  } else if (!is_power_of_two || (!may_tell && entry->count <= 1)) {
    return;
  }
  entry->order = order;
  if (ticks == 0) ticks = Ticks();  // one time for all that it has: they belong together
  for (uint32_t i = 0; i < state->held_count; ++i) {
    const ThreadState::Held held = state->held[i];
    const auto kind = static_cast<SyncKind>(held.entry->kind);
    // A wait for a condition ended there, which acquired the mutex again.
    const SyncKind held_kind = kind == SyncKind::kCondition ? SyncKind::kMutex : kind;
    EmitAt([ticks] { return ticks; }, wire::EventKind::kLockOrder,
           static_cast<uint16_t>(entry->kind | static_cast<uint16_t>(held_kind) << 8), 0, object, entry->site,
           held.object, held.entry->site);
  }
}

void HandedOver(const void* object, uint64_t site, SyncKind kind, uint64_t ticks) {
  EmitAt([ticks] { return ticks; }, wire::EventKind::kHandOver, static_cast<uint16_t>(kind), 0, Address(object), site);
}

namespace {

/// Puts a hand-over to those before it, which are written in front of the thread's next event: threads that contend
/// meet less often if each of them has more to do outside the lock.
/// @return false: it is to be told by itself
bool KeepHandOver(ThreadState* state, const SyncEntry* entry, uint64_t ticks) {
  // A held object may have been waited for before this, and be told behind it.
  if (state->busy != 0 || state->slot == nullptr || HoldsAny()) return false;
  ThreadState::HandOvers& all = state->hand_overs;
  if (all.count == ThreadState::HandOvers::kMostKept) return false;
  if (all.count != 0 && ticks - all.kept[0].ticks >= wire::kShortWaitsTicks) return false;
  __atomic_store_n(&state->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  all.kept[all.count++] = {entry, ticks};
  state->limit = 0;  // the next event comes behind this one
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
  return true;
}

}  // namespace

void ReleasedAwaited(const void* object, const SyncEntry* entry, SyncKind kind, uint64_t ticks) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) > 1 && !Tracing()) {
    ThreadState::HandOvers::One& last = state->hand_overs.last;
    const uint64_t since_last = ticks - last.ticks;
    if (last.entry == entry && since_last < wire::kShortWaitTicks) return;
    last = {entry, ticks};
    const bool is_of_entry = entry->object == Address(object) && entry->kind == static_cast<uint8_t>(kind);
    if (is_of_entry && since_last < wire::kShortWaitsTicks && KeepHandOver(state, entry, ticks)) return;
  }
  HandedOver(object, entry->site, kind, ticks);
}

SyncEntry* BeginWait(const void* object, const void* site, SyncKind kind, uint64_t ticks) {
  if (IsInTellingRuntime(Address(site))) return nullptr;
  kind = MeantBy(kind);
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (entry == nullptr) return nullptr;
  wire::RingSlot* slot = g_thread->slot;
  __atomic_store_n(&slot->wait_since, 0, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  slot->wait_kind = static_cast<uint32_t>(kind);
  slot->wait_owner = 0;
  slot->wait_object = Address(object);
  slot->wait_site = entry->site;
  __atomic_store_n(&slot->wait_since, ticks, __ATOMIC_RELEASE);
  return entry;
}

/// A wait whose time was up.
static void AddUnserved(SyncEntry* entry, uint64_t waited) {
  ++entry->holds;
  entry->hold += waited;
}

void WaitedUntil(const void* object, const void* site, SyncKind kind, uint64_t ticks_before, uint64_t now, bool came) {
  if (IsInTellingRuntime(Address(site)) || IsPartOfMpi(kind)) return;  // part of a wait that is told as a whole
  kind = MeantBy(kind);
  const uint64_t waited = now > ticks_before ? now - ticks_before : 0;
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (entry != nullptr) {
    if (came) ++entry->count;
    ++entry->contended;
    entry->wait += waited;
    if (waited > entry->longest) entry->longest = waited;
    if (HasPassed() && MutexLevel() != wire::kRingMutexesPass) CountPassed(g_thread);
    const bool is_timed = entry->contended % wire::kHoldSampling == 1;
    if (came && IsHeld(kind)) {
      if (HoldsAny()) NoteOrder(Address(object), entry, now);
      return StartWaitedHold(Address(object), entry, is_timed ? now : ThreadState::Held::kUntimed, now, waited);
    }
    if (!came && !IsHeld(kind)) AddUnserved(entry, waited);
    if (came && kind == SyncKind::kSemaphore && Tracing()) Trace(g_thread, TraceOp::kAcquired, entry, now);
  } else if (reinterpret_cast<uintptr_t>(g_thread) > 1) {
    TellModule(Address(site));  // the table is full, and no entry was made for it
  }
  EmitAt([now] { return now; }, wire::EventKind::kWait, static_cast<uint16_t>(kind), 0, Address(object),
         entry != nullptr ? entry->site : Address(site), waited);
}

void PrepareCall(SyncKind kind, const void* site) {
  const int saved_errno = errno;
  static_cast<void>(EntryOf(wire::kCallObject, Address(site), kind));
  errno = saved_errno;
}

void EndCall(SyncKind kind, const void* site, uint64_t before, uint64_t now, bool is_served) {
  const auto* object = reinterpret_cast<const void*>(wire::kCallObject);
  if (kind != SyncKind::kPoll) return WaitedUntil(object, site, kind, before, now, is_served);
  SyncEntry* entry = EntryOf(Address(object), Address(site), kind);
  if (entry == nullptr) return;
  const uint64_t waited = now - before;
  if (is_served) {
    ++entry->count;
  } else {
    AddUnserved(entry, waited);
  }
  ++entry->contended;
  entry->wait += waited;
  if (waited > entry->longest) entry->longest = waited;
}

void OtherWaited(int32_t tid, const void* object, const void* site, SyncKind kind, uint64_t ticks) {
  EmitAt([] { return Ticks(); }, wire::EventKind::kOtherWait, static_cast<uint16_t>(kind), 0, Address(object),
         Address(site), ticks, static_cast<uint32_t>(tid));
}

}  // namespace attune::probe::hook
