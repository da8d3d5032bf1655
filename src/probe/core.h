#pragma once
/// The core of the probe in the observed program: claims a slot and writes records into it. See wire/ring.h for the
/// file.
///
/// All code after Attach() may run in any thread, in a signal handler that interrupts any of it, and in a child made by
/// fork: it takes no lock and allocates nothing. Only a thread that finds no ready slot makes a system call.

#include <stdint.h>

#include "wire/event.h"
#include "wire/ring.h"
#include "wire/tsc.h"

/// The program has installed a system call filter (seccomp), so that a system call may kill it. hook/ sets this.
extern "C" __attribute__((visibility("hidden"))) uint8_t attune_probe_is_sandboxed;

namespace attune::probe {

/// A thread's private state of its slot. Lies in a private mapping that the kernel wipes in a child (MADV_WIPEONFORK):
/// `limit` is 0 there, so that the first event takes the slow path and detects that the slot belongs to the parent.
struct alignas(64) ThreadState {
  /// An object that the thread has acquired and not released yet.
  struct Held {
    uint64_t object;  ///< 0: released
    wire::SyncEntry* entry;
    uint64_t since;  ///< directly after `entry` (PushHeld). ticks; 0, kUntimed: the hold is not timed
    // Only if `since` is not 0:
    uint64_t ended;   ///< ticks at which a wait for it ended that has no event yet; 0: none
    uint64_t waited;  ///< ticks of that wait

    static constexpr uint64_t kUntimed = 1;
    bool IsTimed() const { return since > kUntimed; }
    bool IsToBeTold() const { return since != 0 && ended != 0; }
  };

  /// Waits of one event (wire::EventKind::kShortWaits) that is not written yet.
  struct ShortWaits {
    const wire::SyncEntry* entry;
    uint64_t begin;  ///< ticks: begin of the first one
    uint64_t ended;  ///< end of the last one
    uint64_t waited;
    uint64_t count;  ///< 0: none
  };

  /// Lock handoffs in quick succession whose events are not written yet.
  struct HandOvers {
    struct One {
      const wire::SyncEntry* entry;
      uint64_t ticks;
    };
    static constexpr uint32_t kMostKept = 16;

    One kept[kMostKept];  ///< the oldest first
    uint32_t count;       ///< entries in `kept`
    One last;             ///< written or kept
  };

  /// The end of an OpenMP parallel region at which the thread has arrived; another thread emits the waits of the team
  /// (hook/ompt.cpp).
  struct TeamEnd {
    uint64_t next;         ///< list link: the thread that arrived before this one, or the end of the list
    const uint64_t* task;  ///< word of its task; nullptr: the thread is at no such end
    uint64_t since;        ///< encoded as in such a word
    int32_t tid;
  };
  /// The end of a region that this thread began.
  struct OwnTeamEnd {
    const uint64_t* task;  ///< word of its task
    const uint64_t* list;  ///< the threads that have arrived
  };

  /// A received MPI message whose record is not written yet; the next call or event writes it (mpi/exchange.h).
  struct LateReceive {
    static constexpr uint8_t kWords = 6;

    wire::SyncEntry* entry;  ///< entry of the call; nullptr: no pending record
    uint64_t words[kWords];  ///< the record (wire/message.h)
  };
  /// State of a rapid exchange of messages (mpi/exchange.h).
  struct Exchange {
    wire::SyncEntry* received;  ///< entry of the last counted receive; nullptr: none
    uint64_t ended;             ///< end of the last call
    uint64_t send_ticks;        ///< last measured duration of a small send
    uint32_t quick;             ///< number of consecutive calls that followed immediately
    uint32_t untimed;           ///< number of sends; one in kMeasured is timed
  };

  uint64_t* ring;        ///< words, mapped
  wire::RingSlot* slot;  ///< nullptr: wiped
  uint64_t mask;         ///< ring_words - 1
  uint64_t head;         ///< the same as slot->head
  uint64_t limit;        ///< events up to here need no check of tail
  uint32_t busy;         ///< an event is being written; another event now comes from a signal handler
  uint32_t busy_hits;    ///< events lost for that reason since `busy_head`
  uint64_t busy_head;
  wire::SyncEntry* table;  ///< [sync_entries], mapped; nullptr: wiped
  wire::SyncEntry* last;   ///< the last used entry; nullptr: none
  uint64_t passed;         ///< acquisitions that bypassed the probe and are in no entry yet (wire::kRingMutexesPass)
  uint64_t task_ticks;     ///< spent in tasks of OpenMP since the slot was claimed
  uint64_t* trace;         ///< words, mapped; nullptr: none yet (TraceSlowly)
  uint64_t trace_mask;     ///< trace_words - 1
  uint64_t trace_clock;    ///< time of the last kClock word
  uint64_t trace_stamped;  ///< time of the last word whose time was due
  uint64_t trace_due;      ///< position from which on the next word has a time
  uint32_t trace_spacing;  ///< words between two due times
  uint32_t table_mask;
  uint32_t held_count;     ///< entries in `held`, the last one on top
  Held held[16];           ///< at level profile the timed ones and those that were waited for, from blame on all
  uint32_t orders_told;    ///< kLockOrder events so far; at most kMaxOrdersOfThread
  HandOvers hand_overs;    ///< pending ones, all before the acquisitions of the held objects
  ShortWaits short_waits;  ///< pending ones, which ended before the acquisitions of the held objects
  uint64_t openmp_since;   ///< arrival at a lock of an OpenMP runtime; 1: the lock was free, 0: not at one
  TeamEnd team_end;
  OwnTeamEnd own_team_ends[4];  ///< the innermost region last: tasks at the end of a region may have regions
  uint32_t own_team_end_count;
  LateReceive late_receive;
  Exchange exchange;
};

/// The process's side. Constant after Attach(), except where stated.
struct ProcessState {
  wire::RingHeader* header;  ///< nullptr: not attached
  char* names;
  wire::RingSlot* slots;
  uint64_t* rings;
  wire::SyncEntry* tables;
  wire::TraceDefinition* definitions;
  uint64_t* traces;
  ThreadState* threads;    ///< [slot_count], wiped on fork
  volatile int* fork_pid;  ///< the process id, in the wiped mapping: 0 in a child until the fork handler has set it
  uint32_t slot_count;
  uint32_t own_slots;  ///< number of slots, from the first on, that this process may back
  uint32_t ring_words;
  uint32_t names_bytes;
  uint32_t sync_entries;
  uint32_t trace_words;
  bool clock_is_tsc;
  bool has_thread_key;
  unsigned thread_key;    ///< its destructor is ThreadEnd
  uint64_t last_refusal;  ///< not constant: when a thread without a slot last looked for one
};

extern ProcessState g_process;
/// The level of locks and waits, followed by RingHeader::mutex_level; both are off if the session does not record them.
extern const uint32_t* g_sync_level;
extern const uint32_t g_levels_off[2];

/// The thread's state; nullptr: no slot yet; kRefused: no slot was free.
extern __thread ThreadState* g_thread __attribute__((tls_model("initial-exec")));
/// Whether the thread has said that it has no work (attune_idle_begin).
extern __thread bool g_idle __attribute__((tls_model("initial-exec")));
inline ThreadState* const kRefused = reinterpret_cast<ThreadState*>(1);

/// The thread's id, without a system call, by a documented function of the C library.
int32_t ThreadId();

[[gnu::noinline]] uint64_t MonotonicTicks();

/// In the unit of RingHeader::clock.
inline uint64_t Ticks() { return __builtin_expect(g_process.clock_is_tsc, 1) ? ReadTsc() : MonotonicTicks(); }

/// Ticks() after all earlier instructions; after an acquisition, its exact time.
inline uint64_t TicksBehind() {
  return __builtin_expect(g_process.clock_is_tsc, 1) ? ReadTscBehind() : MonotonicTicks();
}

/// Claims a slot, at the thread's first event and at each event without a slot. The returned state is marked busy.
/// @return nullptr: refused and counted (or not attached)
ThreadState* Claim();

/// Makes room for an event of `words` words: reads tail again and writes a pending kDropped record.
/// @param state busy; may be replaced by another one (after a fork)
/// @return nullptr: no room; the event is counted as dropped and the state is no longer busy
ThreadState* MakeRoom(ThreadState* state, uint64_t words);

/// Divides the acquisitions that bypassed the probe among the thread's mutexes, in proportion to its earlier
/// acquisitions without a wait. @pre the thread has a table
void CountPassed(ThreadState* state);

/// Limit of kLockOrder events of a thread for locks that it acquires only once, such as the locks of thousands of
/// objects.
inline constexpr uint32_t kMaxOrdersOfThread = 2048;

/// Counts a call of MPI that took `ticks`. A call of at least kLongCallTicks (about a microsecond) counts as contended:
/// it waited for another process.
inline constexpr uint64_t kLongCallTicks = 3000;
inline void AddCall(wire::SyncEntry* entry, uint64_t ticks) {
  ++entry->count;
  entry->wait += ticks;
  if (ticks >= kLongCallTicks) ++entry->contended;
  if (ticks > entry->longest) entry->longest = ticks;
}

/// Writes all pending events: the late receive, short waits, lock handoffs, and waits for objects that the thread still
/// holds. They are deferred because writing them would lengthen the hold. MakeRoom() writes them too: `limit` is 0
/// while any is pending.
void TellEndedWaits(ThreadState* state);

/// Drops and counts an event of a signal handler that interrupted the writing of another event. After many of them, the
/// interrupted event is taken to be abandoned by a longjmp, and its place is filled with padding.
void DropNested(ThreadState* state);

/// Writes kThreadEnd and frees the slot. A pthread key destructor.
void ThreadEnd(void* state);

/// Registers or finds a name. Without room: the id of ATTUNE_RING_NO_ROOM_NAME. 0: not attached, or no text.
uint32_t RegisterName(const char* text);

/// Counts an event as dropped that was lost for lack of memory outside of the ring.
void LoseEvent();

/// Writes one record that is no event: without room, or in a signal handler that interrupted another event, it is left
/// out without being counted as lost. @param values the words after the time  @return whether it is in the ring
bool EmitIfRoom(wire::EventKind kind, uint16_t aux, uint32_t name, const uint64_t* values, uint8_t count);

/// Writes one record. Its words are those of wire/ring.h: time, then `values`.
/// @param when returns the time, called after room was made
template <class When, class... Values>
[[gnu::always_inline]] inline void EmitAt(const When& when, wire::EventKind kind, uint16_t aux, uint32_t name,
                                          Values... values) {
  constexpr uint8_t kWords = 2 + sizeof...(Values);
  static_assert(kWords <= wire::kRingMaxRecordWords);
  ThreadState* state = g_thread;
  if (__builtin_expect(reinterpret_cast<uintptr_t>(state) <= 1, 0)) {
    state = Claim();
    if (state == nullptr) return;
  } else if (__builtin_expect(state->busy != 0, 0)) {
    return DropNested(state);
  }
  __atomic_store_n(&state->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(state->head + kWords > state->limit, 0)) {
    state = MakeRoom(state, kWords);
    if (state == nullptr) return;
  }
  const uint64_t ticks = when();
  const uint64_t start = state->head;
  uint64_t position = start;
  const auto put = [&](uint64_t word) { state->ring[position++ & state->mask] = word; };
  put(wire::RingWord0(static_cast<uint8_t>(kind), kWords, aux, name));
  put(ticks);
  (put(static_cast<uint64_t>(values)), ...);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(state->head == start, 1)) {  // else a signal handler took the place for lost: see DropNested
    state->head = position;
    __atomic_store_n(&state->slot->head, position, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);
}

template <class... Values>
[[gnu::always_inline]] inline void Emit(wire::EventKind kind, uint32_t name, Values... values) {
  EmitAt([] { return Ticks(); }, kind, 0, name, values...);
}

}  // namespace attune::probe
