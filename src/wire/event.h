#pragma once
/// Kinds of events, the same in a ring, in a frame and in a query (`events.kind`). Values never change their meaning.

#include <stdint.h>

#ifdef __cplusplus
namespace attune::wire {

enum class EventKind : uint8_t {
  kNone = 0,
  kRegionBegin = 1,  ///< object: the region's element
  kRegionEnd = 2,    ///< object: the region's element
  kInstant = 3,      ///< object: the instant's element; a: the value given, or 0
  kCounter = 4,      ///< in rings only: becomes a sample of the counter's series. a: the value
  kSend = 5,         ///< object: the channel's element; a: bytes, b: the message's tag
  kReceive = 6,      ///< object: the channel's element; a: bytes, b: the message's tag
  kThreadStart = 7,  ///< the thread claimed its ring slot; a: its thread id in the operating system
  kThreadEnd = 8,
  kDropped = 9,   ///< a: events lost here because the ring was full; in rings only: becomes a gap
  kPadding = 10,  ///< in rings only: one word without content
  kWait =
      11,  ///< a wait that ended. object: lock or other object; site: call site; a: ns (in rings: ticks); b: SyncKind
  kSyncTotal = 12,  ///< in rings only: final counts of an ended thread for one object at one site
  kModule = 13,     ///< in rings only: a program or library that contains sites
  kHandOver = 14,  ///< lock handoff. object: released, or signalled, while others waited for it; site: where the thread
                   ///< had acquired it, or signalled; b: SyncKind (wake-ups: kWake). From level blame on; below level
                   ///< trace one event represents all of the same site within kShortWaitTicks
  kOtherWait = 15,  ///< in rings only: a kWait of another thread of the process than the slot's
  kLockOrder = 16,  ///< nested acquisition: a thread that holds a lock asks for another one. object: the requested
                    ///< lock; site: the request; a: the held lock; b: site of its acquisition. One event for each held
                    ///< lock, all with the same time. Sampled so that each order of a thread occurs (wire/sync.h)
  // Traces (wire/trace.h), from level trace on. a: error bound of an interpolated time in ns (0: measured); b:
  // SyncKind.
  kAcquire = 17,  ///< object: the lock, or semaphore; site: where
  kRelease = 18,  ///< object: the lock; site: where it had been acquired
  kSignal = 19,   ///< object: the condition, semaphore or futex; site: where
  // Message passing, in rings only (wire/message.h): become rows of the tables messages and collectives.
  kRank = 20,
  kCommunicator = 21,
  kMessageSent = 22,
  kMessageReceived = 23,
  kCollective = 24,
  kShortWaits = 25,  ///< several kWait of one thread for one object at one site, each shorter than kShortWaitTicks, all
                     ///< within kShortWaitsTicks: object, site, b as in kWait; a: their sum, up to the end of the last
  kLongWait = 26,  ///< not in rings: a wait that goes on, once it has lasted half a second, and again when it is known
                   ///< to wait for another thread. object, site as in kWait; a: ns so far; b: SyncKind, and from bit 8
                   ///< on the element of the thread that has the lock or is to be joined (0: not known)
  kSource = 27,    ///< in rings only: function, file and line of a site whose address is no machine code
  kKnob = 28,      ///< in rings only: a variable that the program lets the session change (attune/knob.h)
};
constexpr int kLongWaitOwnerBit = 8;

/// Shorter waits have no event of their own below level trace: several become one kShortWaits. 3 to 5 us of a TSC.
/// A contended lock can have a million waits a second. To read an event for each takes a CPU from the program, and with
/// less CPU time two threads meet less often.
constexpr uint64_t kShortWaitTicks = 10'000;
/// Longest time from the begin of the first wait of a kShortWaits to the end of the last (30 to 50 us).
constexpr uint64_t kShortWaitsTicks = 100'000;

/// Whether an event of this kind is waiting time that ended at its t_ns. @param kind as in a row, of any value
constexpr bool IsWait(int64_t kind) {
  return kind == static_cast<int64_t>(EventKind::kWait) || kind == static_cast<int64_t>(EventKind::kShortWaits);
}

}  // namespace attune::wire
#endif
