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
  kThreadStart = 7,  ///< the thread took its ring slot; a: its thread id in the operating system
  kThreadEnd = 8,
  kDropped = 9,     ///< a: events lost here because the ring was full; in rings only: becomes a gap
  kPadding = 10,    ///< in rings only: one word that says nothing
  kWait = 11,       ///< object: what was waited for; site: where; a: nanoseconds (in rings: ticks); b: SyncKind
  kSyncTotal = 12,  ///< in rings only: what a thread that ended had counted of one object at one site
  kModule = 13,     ///< in rings only: a program or library of which sites come
  kHandOver = 14,   ///< object: what was released, or signalled, while others waited for it; site: where the thread had
                   ///< acquired it, or signalled; b: SyncKind (wake-ups: kWake). From level blame on; below level trace
                   ///< it stands for those of the same place within kShortWaitTicks
  kOtherWait = 15,  ///< in rings only: a kWait of another thread of the process than the slot's
  kLockOrder = 16,  ///< a lock was asked for by a thread that had another one. object: the lock; site: where; a: what
                    ///< it had; b: where it had acquired that. One for each that it had, all of the same time; not each
                    ///< time, but each order in which a thread takes its locks (wire/sync.h)
  // Of traces (wire/trace.h), from level trace on. a: nanoseconds that the time may be off, for it is interpolated
  // (0: it was taken); b: SyncKind.
  kAcquire = 17,  ///< object: the lock, or semaphore; site: where
  kRelease = 18,  ///< object: the lock; site: where it had been acquired
  kSignal = 19,   ///< object: the condition, semaphore or futex; site: where
  // Of message passing, in rings only (wire/message.h): they become rows of tables of their own.
  kRank = 20,
  kCommunicator = 21,
  kMessageSent = 22,
  kMessageReceived = 23,
  kCollective = 24,
  kShortWaits =
      25,  ///< several kWait of one thread for one object at one place, each shorter than kShortWaitTicks, all
           ///< within kShortWaitsTicks: object, site, b as of those; a: their sum, up to the end of the last
};

/// Of a wait shorter than that it is not told when it was, but together with others (below level trace; 3 to 5 us of a
/// TSC). A lock that is taken a million times a second would have as many events, whose reader takes a CPU from the
/// program: and with less CPU time two threads meet less often.
constexpr uint64_t kShortWaitTicks = 10'000;
/// From the begin of the first of them to the end of the last (30 to 50 us).
constexpr uint64_t kShortWaitsTicks = 100'000;

/// Whether an event of this kind is time that a thread waited, which ended then. @param kind as in a row, of any value
constexpr bool IsWait(int64_t kind) {
  return kind == static_cast<int64_t>(EventKind::kWait) || kind == static_cast<int64_t>(EventKind::kShortWaits);
}

}  // namespace attune::wire
#endif
