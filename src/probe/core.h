#pragma once
/// Inside the observed program: claiming a slot and writing records into it. See wire/ring.h for the file.
///
/// Everything that runs after Attach() may run in any thread, in a signal handler that interrupts any of it, and in a
/// child made by fork: it takes no lock, allocates nothing, and makes no system call but for a thread that finds no
/// slot ready.

#include <stdint.h>

#include "wire/event.h"
#include "wire/ring.h"
#include "wire/tsc.h"

/// The program has forbidden itself system calls, and may die of one. What it calls for that is in hook/.
extern "C" __attribute__((visibility("hidden"))) uint8_t attune_probe_is_sandboxed;

namespace attune::probe {

/// What a thread knows about its slot. Lives in a private mapping that the kernel empties in a child (MADV_WIPEONFORK):
/// there `limit` is 0, so that the first event finds out that the slot belongs to the parent.
struct alignas(64) ThreadState {
  /// Something that the thread has acquired, and not released yet.
  struct Held {
    uint64_t object;  ///< 0: none any more
    wire::SyncEntry* entry;
    uint64_t since;  ///< behind `entry` (PushHeld). ticks; 0, kUntimed: the time until its release is not taken
    // Only where `since` is not 0:
    uint64_t ended;   ///< ticks at which a wait for it ended, which is to be told; 0: there is nothing to tell
    uint64_t waited;  ///< ticks of that wait

    static constexpr uint64_t kUntimed = 1;
    bool IsTimed() const { return since > kUntimed; }
    bool IsToBeTold() const { return since != 0 && ended != 0; }
  };

  /// Waits that are told as one event (wire::EventKind::kShortWaits), which is not written yet.
  struct ShortWaits {
    const wire::SyncEntry* entry;
    uint64_t begin;  ///< ticks: of the first one's begin
    uint64_t ended;  ///< of the last one's end
    uint64_t waited;
    uint64_t count;  ///< 0: there are none
  };

  /// Releases, while others waited, that follow each other quickly: events that are not written yet.
  struct HandOvers {
    struct One {
      const wire::SyncEntry* entry;
      uint64_t ticks;
    };
    static constexpr uint32_t kMostKept = 16;

    One kept[kMostKept];  ///< the oldest first
    uint32_t count;       ///< of `kept`
    One last;             ///< written or kept
  };

  /// The end of a parallel region of OpenMP that the thread has come to, whose team another thread tells of
  /// (hook/ompt.cpp).
  struct TeamEnd {
    uint64_t next;         ///< that of the thread that came before this one, or what the list ends with
    const uint64_t* task;  ///< its word; nullptr: the thread is at no such end
    uint64_t since;        ///< as such a word says it
    int32_t tid;
  };
  /// The end of one that this thread began.
  struct OwnTeamEnd {
    const uint64_t* task;  ///< its word
    const uint64_t* list;  ///< of those that have come
  };

  /// What a call of MPI received that is not written yet: the next call does that, or the next event (mpi/exchange.h).
  struct LateReceive {
    static constexpr uint8_t kWords = 6;

    wire::SyncEntry* entry;  ///< for which the call counts; nullptr: there is nothing to be written
    uint64_t words[kWords];  ///< the record (wire/message.h)
  };
  /// How the thread sends and receives messages one after the other.
  struct Exchange {
    wire::SyncEntry* received;  ///< of the last receive that was counted; nullptr: there was none
    uint64_t ended;             ///< when the last call was over
    uint64_t send_ticks;        ///< what a small message took to send when that was measured the last time
    uint32_t quick;             ///< so many calls followed the one before at once
    uint32_t untimed;           ///< counts sends, of which some are measured
  };

  uint64_t* ring;        ///< words, mapped
  wire::RingSlot* slot;  ///< nullptr: wiped
  uint64_t mask;         ///< ring_words - 1
  uint64_t head;         ///< the same as slot->head
  uint64_t limit;        ///< events may go up to here before tail has to be looked at again
  uint32_t busy;         ///< an event is being written: who comes now came by a signal
  uint32_t busy_hits;    ///< events lost to that since `busy_head`
  uint64_t busy_head;
  wire::SyncEntry* table;  ///< [sync_entries], mapped; nullptr: wiped
  wire::SyncEntry* last;   ///< the entry that was used last; nullptr: none
  uint64_t passed;         ///< mutexes taken that stand in no entry yet (wire::kRingMutexesPass)
  uint64_t task_ticks;     ///< spent in tasks of OpenMP since the slot was claimed
  uint64_t* trace;         ///< words, mapped; nullptr: none yet (TraceSlowly)
  uint64_t trace_mask;     ///< trace_words - 1
  uint64_t trace_clock;    ///< time of the last kClock word
  uint64_t trace_stamped;  ///< time of the last word that had one because it was due
  uint64_t trace_due;      ///< position from which on the next word has a time
  uint32_t trace_spacing;  ///< words from one that was due to the next
  uint32_t table_mask;
  uint32_t held_count;     ///< of `held`, the last one on top
  Held held[16];           ///< at level profile those whose time is taken or that were waited for, from blame on all
  uint32_t orders_told;    ///< at most kMaxOrdersOfThread
  HandOvers hand_overs;    ///< those that are kept: of before what it holds now was acquired
  ShortWaits short_waits;  ///< they ended before what it holds now was acquired
  uint64_t openmp_since;   ///< when it came to a lock of an OpenMP runtime; 1: nobody was in the way, 0: it did not
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
  uint32_t own_slots;  ///< the first ones, which this process may back
  uint32_t ring_words;
  uint32_t names_bytes;
  uint32_t sync_entries;
  uint32_t trace_words;
  bool clock_is_tsc;
  bool has_thread_key;
  unsigned thread_key;    ///< its destructor is ThreadEnd
  uint64_t last_refusal;  ///< changes: when a thread without a slot last looked for one
};

extern ProcessState g_process;
/// The level at which locks and waits are recorded, and behind it RingHeader::mutex_level: both off where the session
/// has no use for them.
extern const uint32_t* g_sync_level;
extern const uint32_t g_levels_off[2];

/// nullptr: no slot yet; kRefused: none was free; else the thread's.
extern __thread ThreadState* g_thread __attribute__((tls_model("initial-exec")));
inline ThreadState* const kRefused = reinterpret_cast<ThreadState*>(1);

/// The thread's id, without a system call: the C library keeps it, and a documented function of its shows it.
int32_t ThreadId();

[[gnu::noinline]] uint64_t MonotonicTicks();

/// In the unit of RingHeader::clock.
inline uint64_t Ticks() { return __builtin_expect(g_process.clock_is_tsc, 1) ? ReadTsc() : MonotonicTicks(); }

/// Ticks() behind all that the CPU did before: of an acquisition it is the time at which its object was had.
inline uint64_t TicksBehind() {
  return __builtin_expect(g_process.clock_is_tsc, 1) ? ReadTscBehind() : MonotonicTicks();
}

/// The thread's first event, and all events of threads without a slot. The state is marked busy.
/// @return nullptr: refused and counted (or not attached)
ThreadState* Claim();

/// Makes room for an event of so many words: looks at tail again, writes the record of what was lost before.
/// @param state busy; may be replaced by another one (after a fork)
/// @return nullptr: no room; the event is counted as dropped and the state is not busy any more
ThreadState* MakeRoom(ThreadState* state, uint64_t words);

/// Counts what the thread took while mutexes passed for its mutexes, for each as much as it took it
/// without a wait before.
/// @pre the thread has a table
void CountPassed(ThreadState* state);

/// A thread that told so often that it had something when it acquired something tells no more of what it acquires once:
/// such locks as each of thousands of objects has.
inline constexpr uint32_t kMaxOrdersOfThread = 2048;

/// Counts a call of MPI that took so long. What takes longer than kLongCallTicks has waited for another process: about
/// a microsecond.
inline constexpr uint64_t kLongCallTicks = 3000;
inline void AddCall(wire::SyncEntry* entry, uint64_t ticks) {
  ++entry->count;
  entry->wait += ticks;
  if (ticks >= kLongCallTicks) ++entry->contended;
  if (ticks > entry->longest) entry->longest = ticks;
}

/// Writes the late receive, the short waits, the hand-overs that are kept, and the waits for what the thread still has,
/// of which none was told when they ended: whoever has a lock has no time to tell. MakeRoom() does so too: where there
/// is something to tell, `limit` is 0.
void TellEndedWaits(ThreadState* state);

/// An event came by a signal while another one was being written: it is lost, and counted. When that goes on and on,
/// the other one was left by a longjmp, and its place is filled with padding.
void DropNested(ThreadState* state);

/// The thread is ending: says so in the ring and frees its slot. A pthread key destructor.
void ThreadEnd(void* state);

/// Registers a name or finds it; where there is no room, the name that says so. 0: not attached, or no text.
uint32_t RegisterName(const char* text);

/// Counts an event that is lost for want of memory elsewhere, as one that found no room.
void LoseEvent();

/// Writes one record that is no event: where it finds no room, or came by a signal in the middle of another one, it is
/// not counted as lost. @param values the words behind the time  @return whether it is in the ring
bool EmitIfRoom(wire::EventKind kind, uint16_t aux, uint32_t name, const uint64_t* values, uint8_t count);

/// Writes one record. Its words are those of wire/ring.h: time, then `values`.
/// @param when gives the time, once there is room
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
