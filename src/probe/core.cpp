#include "probe/core.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

constinit uint8_t attune_probe_is_sandboxed = 0;

namespace attune::probe {

using wire::EventKind;
using wire::RingSlot;

constinit ProcessState g_process = {};
__thread ThreadState* g_thread __attribute__((tls_model("initial-exec"))) = nullptr;

int32_t ThreadId() {
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return 0;
  return ~(clock >> 3);
}

namespace {

constexpr uint8_t kDroppedWords = 4;
constexpr uint8_t kThreadStartWords = 3;
constexpr uint8_t kThreadEndWords = 2;
static_assert(kDroppedWords + kThreadEndWords <= wire::kRingReservedWords);

/// A thread without a slot looks for one at most this often: about 0.4 ms of TSC, 1 ms of nanoseconds.
constexpr uint64_t kRetryTicks = 1u << 20;

/// A state that stays busy at the same place over so many events was left by a longjmp out of a signal handler. (Or a
/// handler emits as many by itself, before it returns to the event: that one is then lost.)
constexpr uint32_t kStuckHits = 64;

/// A claim that is under way in this thread. A signal handler may come in between, and may leave with a longjmp.
struct PendingClaim {
  uint32_t round;    ///< another one than before: somebody else has taken over
  uint32_t running;  ///< 0: none is under way
  uint32_t slot;     ///< 1 + the slot that has been taken; 0: none yet
  uint32_t hits;     ///< events refused meanwhile
  int pid;           ///< process id of the claim: a child made by fork has taken nothing
};
__thread PendingClaim g_claim __attribute__((tls_model("initial-exec"))) = {};

/// Position up to which events may be written; a tail that is being stored right now counts as the head (no room).
uint64_t Limit(const ThreadState* state) {
  const RingSlot* slot = state->slot;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const uint64_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->tail_check, __ATOMIC_ACQUIRE) == ~tail) {
      // A tail that makes no sense (the file was tampered with) must not let us write round the ring: that is harmless
      // to this program, since every position is masked, but it would be taken for room.
      if (state->head - tail > g_process.ring_words) return 0;
      return tail + g_process.ring_words - wire::kRingReservedWords;
    }
  }
  return 0;
}

void Put(ThreadState* state, uint64_t word) { state->ring[state->head++ & state->mask] = word; }

void Publish(ThreadState* state) { __atomic_store_n(&state->slot->head, state->head, __ATOMIC_RELEASE); }

bool HasUnreportedDrops(const RingSlot* slot) {
  return __atomic_load_n(&slot->dropped, __ATOMIC_RELAXED) != slot->reported;
}

void PutPadding(ThreadState* state) {
  for (int i = 0; i < wire::kRingMaxRecordWords; ++i) {
    Put(state, wire::RingWord0(static_cast<uint8_t>(EventKind::kPadding), 1, 0, 0));
  }
}

/// @param dropped of the slot so far
void PutDroppedRecord(ThreadState* state, uint64_t dropped, uint64_t ticks) {
  Put(state, wire::RingWord0(static_cast<uint8_t>(EventKind::kDropped), kDroppedWords, 0, 0));
  Put(state, state->slot->first_drop);
  Put(state, dropped - state->slot->reported);
  Put(state, ticks);
}

/// Writes what was lost since the last such record. @pre room for kDroppedWords
void PutDropped(ThreadState* state, uint64_t ticks) {
  RingSlot* slot = state->slot;
  const uint64_t dropped = __atomic_load_n(&slot->dropped, __ATOMIC_RELAXED);
  PutDroppedRecord(state, dropped, ticks);
  // In this order: left in between, these drops are in no record, but the reader compares the sums at the end.
  slot->reported = dropped;
  Publish(state);
}

void CountDrop(ThreadState* state, uint64_t ticks) {
  RingSlot* slot = state->slot;
  if (!HasUnreportedDrops(slot)) slot->first_drop = ticks;
  __atomic_fetch_add(&slot->dropped, 1, __ATOMIC_RELAXED);
  state->limit = 0;  // the next event goes through MakeRoom, which reports
}

/// Words of a kWait record.
constexpr uint8_t kWaitWords = 5;

/// @pre there are some, and room for them
void PutShortWaits(ThreadState* state) {
  ThreadState::ShortWaits& waits = state->short_waits;
  const EventKind kind = waits.count > 1 ? EventKind::kShortWaits : EventKind::kWait;
  Put(state, wire::RingWord0(static_cast<uint8_t>(kind), kWaitWords, waits.entry->kind, 0));
  Put(state, waits.ended);
  Put(state, waits.entry->object);
  Put(state, waits.entry->site);
  Put(state, waits.waited);
  waits.count = 0;
  Publish(state);
}

/// Words of a kHandOver record.
constexpr uint8_t kHandOverWords = 4;

/// Writes those that are kept, up to a time. What finds no room stays. @param words of a further record  @pre busy
/// @return whether there was room
bool PutHandOvers(ThreadState* state, uint64_t until, uint64_t words) {
  ThreadState::HandOvers& all = state->hand_overs;
  const auto is_next = [&](uint32_t i) { return i < all.count && all.kept[i].ticks <= until; };
  uint32_t put = 0;
  for (; is_next(put) && state->head + kHandOverWords + words <= state->limit; ++put) {
    const auto& [entry, ticks] = all.kept[put];
    Put(state, wire::RingWord0(static_cast<uint8_t>(EventKind::kHandOver), kHandOverWords, entry->kind, 0));
    Put(state, ticks);
    Put(state, entry->object);
    Put(state, entry->site);
  }
  const bool is_room = !is_next(put);
  if (put == 0) return is_room;
  for (uint32_t i = put; i < all.count; ++i) all.kept[i - put] = all.kept[i];
  all.count -= put;
  Publish(state);
  return is_room;
}

/// In front of a further record, which is later. @param words of that record  @pre busy
void PutLateReceive(ThreadState* state, uint64_t words) {
  ThreadState::LateReceive& late = state->late_receive;
  const uint64_t end = late.words[1], begin = late.words[2];
  AddCall(late.entry, end > begin ? end - begin : 0);
  late.entry = nullptr;
  if (state->head + ThreadState::LateReceive::kWords + words > state->limit) return CountDrop(state, end);
  for (const uint64_t word : late.words) Put(state, word);
  Publish(state);
}

/// In front of a further record. What finds no room stays to be told. @param words of that record  @pre busy
void PutEndedWaits(ThreadState* state, uint64_t words) {
  if (state->late_receive.entry != nullptr) PutLateReceive(state, words);
  if (state->short_waits.count != 0) {
    if (!PutHandOvers(state, state->short_waits.ended, words)) return;
    if (state->head + kWaitWords + words > state->limit) return;
    PutShortWaits(state);
  }
  if (!PutHandOvers(state, UINT64_MAX, words)) return;
  for (uint32_t i = 0; i < state->held_count; ++i) {
    ThreadState::Held& held = state->held[i];
    if (held.object == 0 || !held.IsToBeTold()) continue;
    if (state->head + kWaitWords + words > state->limit) return;
    Put(state, wire::RingWord0(static_cast<uint8_t>(EventKind::kWait), kWaitWords, held.entry->kind, 0));
    Put(state, held.ended);
    Put(state, held.object);
    Put(state, held.entry->site);
    Put(state, held.waited);
    held.ended = 0;
    Publish(state);
  }
}

/// Words of a kSyncTotal record.
constexpr uint8_t kSyncTotalWords = 8;

/// Hands over what the thread has counted, and empties the table for the next owner. What finds no room is lost, and
/// counted. @pre busy
void PutSyncTotals(ThreadState* state, uint64_t ticks) {
  RingSlot* slot = state->slot;
  if (g_process.sync_entries == 0) return;
  if (state->passed != 0) CountPassed(state);
  state->limit = Limit(state);
  const auto aux = [slot](const wire::SyncEntry* entry) {
    return static_cast<uint16_t>(entry->kind | (slot->sync_owner & 0xff) << 8);
  };
  for (uint32_t i = 0; i <= state->table_mask; ++i) {
    wire::SyncEntry* entry = &state->table[i];
    if (entry->object == 0) continue;
    if (state->head + kSyncTotalWords <= state->limit) {
      Put(state, wire::RingWord0(static_cast<uint8_t>(EventKind::kSyncTotal), kSyncTotalWords, aux(entry), 0));
      Put(state, ticks);
      Put(state, entry->object);
      Put(state, entry->site);
      Put(state, entry->count);
      Put(state, entry->wait);
      Put(state, entry->hold);
      Put(state, uint64_t{entry->contended} << 32 | entry->holds);
      Publish(state);
    } else {
      slot->sync_lost += entry->count;
    }
    memset(entry, 0, sizeof *entry);
  }
  __atomic_fetch_add(&slot->sync_owner, 1, __ATOMIC_RELEASE);
}

/// How often a mutex was taken without a wait, and one; of other entries 0.
uint64_t TakenFree(const wire::SyncEntry* entry) {
  if (entry->object == 0 || entry->kind != static_cast<uint8_t>(wire::SyncKind::kMutex)) return 0;
  return 1 + entry->count - (entry->contended < entry->count ? entry->contended : entry->count);
}

void Release(RingSlot* slot) { __atomic_store_n(&slot->state, uint32_t{wire::kRingSlotFree}, __ATOMIC_RELEASE); }

void NoteSlotUsed(uint32_t index) {
  uint32_t* used = &g_process.header->slots_used;
  uint32_t seen = __atomic_load_n(used, __ATOMIC_RELAXED);
  while (seen <= index &&
         !__atomic_compare_exchange_n(used, &seen, index + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

bool TryTake(uint32_t index) {
  RingSlot* slot = &g_process.slots[index];
  if (__atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE) != 1) return false;
  uint32_t expected = wire::kRingSlotFree;
  if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) != expected) return false;
  return __atomic_compare_exchange_n(&slot->state, &expected, uint32_t{wire::kRingSlotClaimed}, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

/// State of this thread for the slot that it has taken, before it has written anything.
ThreadState Fresh(uint32_t index) {
  ThreadState state = {};
  state.ring = g_process.rings + uint64_t{index} * g_process.ring_words;
  state.slot = &g_process.slots[index];
  state.table = g_process.tables + uint64_t{index} * g_process.sync_entries;
  state.table_mask = g_process.sync_entries - 1;
  state.mask = g_process.ring_words - 1;
  state.head = state.slot->head;
  state.limit = Limit(&state);
  state.busy = 1;
  return state;
}

/// Makes ThreadEnd run for `state` when this thread ends.
void RememberForEnd(ThreadState* state) {
  if (g_process.has_thread_key) pthread_setspecific(g_process.thread_key, state);
}

enum class Adoption : uint8_t { kDone, kNoRoom, kTakenOver };

/// Makes the slot that this thread has taken its own. Nothing of it counts before the last lines, so that an adoption
/// that was left in the middle can be done once more.
/// @param again one was left in the middle: if that one does go on after all, what it writes lies in padding
Adoption Adopt(uint32_t index, uint32_t round, bool again) {
  ThreadState state = Fresh(index);
  RingSlot* slot = state.slot;
  const uint32_t words = kDroppedWords + kThreadStartWords + (again ? uint32_t{wire::kRingMaxRecordWords} : 0);
  if (state.head + words > state.limit) return Adoption::kNoRoom;  // its former owner's events are still in it
  RememberForEnd(&g_process.threads[index]);
  const uint64_t ticks = TicksBehind();  // the last owner's records have times too
  const int32_t tid = ThreadId();
  const int32_t pid = *g_process.fork_pid != 0 ? *g_process.fork_pid : tid;
  slot->pid = pid;
  slot->tid = tid;
  slot->wait_since = 0;
  NoteSlotUsed(index);
  if (again) PutPadding(&state);
  const uint64_t dropped = __atomic_load_n(&slot->dropped, __ATOMIC_RELAXED);
  if (dropped != slot->reported) PutDroppedRecord(&state, dropped, ticks);
  Put(&state, wire::RingWord0(static_cast<uint8_t>(EventKind::kThreadStart), kThreadStartWords, 0, 0));
  Put(&state, ticks);
  Put(&state, uint64_t{static_cast<uint32_t>(pid)} << 32 | static_cast<uint32_t>(tid));
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (g_claim.round != round) return Adoption::kTakenOver;
  slot->reported = dropped;
  g_process.threads[index] = state;
  Publish(&state);
  g_thread = &g_process.threads[index];
  g_claim.slot = 0;
  g_claim.running = 0;
  return Adoption::kDone;
}

/// Memory for it, or false where there is none. (Whoever wrote to it then would be killed.)
bool Populate(void* memory, uint64_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, from Linux 5.14 on
  return bytes == 0 || madvise(memory, bytes, kPopulateWrite) == 0;
}

/// Takes it out of what the program may still take. @return false: that is less
bool TakeBudget(uint64_t bytes) {
  uint64_t* budget = &g_process.header->budget_bytes;
  uint64_t left = __atomic_load_n(budget, __ATOMIC_RELAXED);
  while (left >= bytes) {
    if (__atomic_compare_exchange_n(budget, &left, left - bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return true;
  }
  return false;
}

/// @pre the definitions are backed: those of the first slots' traces were
bool BackTrace(uint32_t index) {
  const uint64_t bytes = g_process.trace_words * sizeof(uint64_t);
  return __atomic_load_n(g_sync_level, __ATOMIC_RELAXED) >= wire::kRingLevelTrace && g_process.trace_words > 0 &&
         g_process.slots[0].trace_ready == 1 && TakeBudget(bytes) &&
         Populate(g_process.traces + uint64_t{index} * g_process.trace_words, bytes);
}

/// Takes memory for one more slot: a program may make more threads at once than the session has got ready. The first
/// ones only: what this thread has locked stays locked meanwhile. @return false: there is none
bool BackAnother() {
  if (attune_probe_is_sandboxed != 0) return false;
  uint32_t index = 0;
  while (index < g_process.own_slots && __atomic_load_n(&g_process.slots[index].ready, __ATOMIC_RELAXED) != 0) ++index;
  if (index >= g_process.own_slots) return false;
  const uint64_t ring_bytes = g_process.ring_words * sizeof(uint64_t);
  const uint64_t table_bytes = g_process.sync_entries * sizeof(wire::SyncEntry);
  if (!TakeBudget(ring_bytes + table_bytes)) return false;
  RingSlot* slot = &g_process.slots[index];
  const int saved_errno = errno;
  const bool is_there = Populate(g_process.rings + uint64_t{index} * g_process.ring_words, ring_bytes) &&
                        Populate(g_process.tables + uint64_t{index} * g_process.sync_entries, table_bytes);
  if (is_there && BackTrace(index)) __atomic_store_n(&slot->trace_ready, 1, __ATOMIC_RELEASE);
  errno = saved_errno;
  if (is_there) __atomic_store_n(&slot->ready, 1, __ATOMIC_RELEASE);
  return is_there;
}

/// Finds a slot among those that are ready. @return false: there is none; else g_thread has one, whoever has found it
bool FindReadySlot(uint32_t round, uint32_t left) {
  if (left != 0) {
    if (Adopt(left - 1, round, true) != Adoption::kNoRoom) return true;
    g_claim.slot = 0;
    RememberForEnd(nullptr);
    Release(&g_process.slots[left - 1]);
  }
  for (uint32_t index = 0; index < g_process.slot_count; ++index) {
    if (!TryTake(index)) continue;
    if (g_claim.round == round) {
      g_claim.slot = index + 1;
      if (Adopt(index, round, false) != Adoption::kNoRoom) return true;
      g_claim.slot = 0;
    }
    Release(&g_process.slots[index]);
    if (g_claim.round != round) return reinterpret_cast<uintptr_t>(g_thread) > 1;
  }
  return false;
}

/// As FindReadySlot, and makes one ready if it is to be.
bool FindSlot(uint32_t round, uint32_t left) {
  if (FindReadySlot(round, left)) return true;
  // Each slot that another thread was quicker to take is one less that can come.
  for (uint32_t tries = 0; tries < g_process.own_slots && g_claim.round == round && BackAnother(); ++tries) {
    if (FindReadySlot(round, 0)) return true;
  }
  return false;
}

/// Another event came by a signal while this thread was claiming. False: that one was left by a longjmp.
bool ClaimGoesOn() { return g_claim.running != 0 && g_claim.pid == *g_process.fork_pid && ++g_claim.hits < kStuckHits; }

ThreadState* Refuse() {
  __atomic_fetch_add(&g_process.header->refused_events, 1, __ATOMIC_RELAXED);
  return nullptr;
}

}  // namespace

uint64_t MonotonicTicks() {
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

ThreadState* Claim() {
  if (g_process.header == nullptr) return nullptr;
  if (ClaimGoesOn()) return Refuse();
  const uint64_t ticks = Ticks();
  const bool was_refused = g_thread == kRefused;
  const uint64_t last = __atomic_load_n(&g_process.last_refusal, __ATOMIC_RELAXED);
  if (!was_refused || ticks - last > kRetryTicks) {
    const uint32_t left = g_claim.pid == *g_process.fork_pid ? g_claim.slot : 0;
    const uint32_t round = g_claim.round + 1;
    g_claim = {.round = round, .running = 1, .slot = left, .hits = 0, .pid = *g_process.fork_pid};
    if (FindSlot(round, left)) {
      ThreadState* state = g_thread;
      state->busy = 1;  // it is 0 if a signal handler came in between and found a slot for this thread
      return state;
    }
    g_claim.running = 0;
    __atomic_store_n(&g_process.last_refusal, ticks, __ATOMIC_RELAXED);
  }
  if (!was_refused) {
    g_thread = kRefused;
    __atomic_fetch_add(&g_process.header->refused_threads, 1, __ATOMIC_RELAXED);
  }
  return Refuse();
}

ThreadState* MakeRoom(ThreadState* state, uint64_t words) {
  if (state->slot == nullptr) {
    // A child made by fork: the slot is the parent's.
    state->busy = 0;
    g_thread = nullptr;
    state = Claim();
    if (state == nullptr) return nullptr;
  }
  state->limit = Limit(state);
  const bool unreported = HasUnreportedDrops(state->slot);
  if (state->head + words + (unreported ? kDroppedWords : 0) > state->limit) {
    CountDrop(state, Ticks());
    state->busy_hits = 0;  // head stands still, but it is us who drop
    __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
    return nullptr;
  }
  if (unreported) PutDropped(state, Ticks());
  PutEndedWaits(state, words);
  return state;
}

void TellEndedWaits(ThreadState* state) {
  if (state->busy != 0 || state->slot == nullptr) return;
  __atomic_store_n(&state->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  state->limit = Limit(state);
  PutEndedWaits(state, 0);
  if (HasUnreportedDrops(state->slot)) state->limit = 0;
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
}

void DropNested(ThreadState* state) {
  if (state->slot == nullptr) return;
  if (state->busy_head != state->head) {
    state->busy_head = state->head;
    state->busy_hits = 0;
  }
  CountDrop(state, Ticks());
  if (++state->busy_hits < kStuckHits) return;
  // Words of the other writer are not committed and may be any part of a record. If it goes on after all, it finds the
  // head moved; what it still writes by then lies in the padding, where a whole record makes sense too.
  state->head = state->slot->head;
  if (state->head + wire::kRingMaxRecordWords > Limit(state)) return;
  PutPadding(state);
  Publish(state);
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
}

void LoseEvent() {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->slot == nullptr) return;
  CountDrop(state, Ticks());
}

bool EmitIfRoom(EventKind kind, uint16_t aux, uint32_t name, const uint64_t* values, uint8_t count) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->busy != 0 || state->slot == nullptr) return false;
  __atomic_store_n(&state->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  state->limit = Limit(state);
  const auto words = static_cast<uint8_t>(2 + count);
  const bool has_room = !HasUnreportedDrops(state->slot) && state->head + words <= state->limit;
  if (has_room) {
    Put(state, wire::RingWord0(static_cast<uint8_t>(kind), words, aux, name));
    Put(state, Ticks());
    for (uint8_t i = 0; i < count; ++i) Put(state, values[i]);
    Publish(state);
  }
  state->limit = 0;  // there may be waits to be told
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
  return has_room;
}

void CountPassed(ThreadState* state) {
  uint64_t left = __atomic_exchange_n(&state->passed, 0, __ATOMIC_RELAXED);  // a signal handler may come here
  wire::SyncEntry* most = nullptr;
  uint64_t all = 0;
  for (uint32_t i = 0; i <= state->table_mask; ++i) {
    wire::SyncEntry* entry = &state->table[i];
    all += TakenFree(entry);
    if (most == nullptr || TakenFree(entry) > TakenFree(most)) most = entry;
  }
  if (all == 0) {  // it has none
    state->slot->sync_lost += left;
    return;
  }
  const double passed_for_each = static_cast<double>(left) / static_cast<double>(all);
  for (uint32_t i = 0; i <= state->table_mask; ++i) {
    wire::SyncEntry* entry = &state->table[i];
    const auto part = static_cast<uint64_t>(passed_for_each * static_cast<double>(TakenFree(entry)));
    if (entry == most || part > left) continue;
    entry->count += part;
    left -= part;
  }
  most->count += left;
}

namespace {

/// The thread that returns from main, or calls exit, ends without its key's destructor.
[[gnu::destructor]] void CountLastPassed() {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->busy != 0 || state->slot == nullptr || state->passed == 0)
    return;
  __atomic_store_n(&state->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  CountPassed(state);
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
}

}  // namespace

void ThreadEnd(void* value) {
  auto* state = static_cast<ThreadState*>(value);
  RingSlot* slot = state->slot;
  if (slot == nullptr) return;  // the parent's, seen from a child
  state->busy = 1;
  state->head = slot->head;  // cancellation may have come while an event was being written
  const uint64_t ticks = Ticks();
  slot->wait_since = 0;  // a wait that was cancelled
  if (HasUnreportedDrops(slot)) PutDropped(state, ticks);
  state->limit = Limit(state);
  PutEndedWaits(state, 0);
  PutSyncTotals(state, ticks);
  Put(state, wire::RingWord0(static_cast<uint8_t>(EventKind::kThreadEnd), kThreadEndWords, 0, 0));
  Put(state, ticks);
  Publish(state);
  g_thread = nullptr;
  memset(state, 0, sizeof(*state));
  Release(slot);
}

}  // namespace attune::probe
