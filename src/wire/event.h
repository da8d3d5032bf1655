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
                    ///< acquired it, or signalled; b: SyncKind (wake-ups: kWake). From level blame on
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
};

}  // namespace attune::wire
#endif
