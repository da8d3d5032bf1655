#pragma once
/// The trace of a thread: each acquisition and release as one word, in a buffer of its own beside its ring
/// (wire/ring.h). Plain data, C11 and C++.
///
/// The buffer keeps the newest words: the writer never waits for a reader and never asks for room. Read once, a buffer
/// is a flight recorder; read repeatedly, a stream. Positions give the number of words overwritten in between.
///
/// **Word.** Lowest bits first: 4 bits TraceOp, 1 bit lap, then
///
///   kAcquired, kReleased, kSignalled   14 bits definition, 45 bits time (0: not measured)
///   kOwner                             22 bits thread id, 22 bits process id: owner of the following words
///   kClock                             59 bits time
///
/// `time` is the lowest bits of the time in the unit of RingHeader::clock; the higher bits are those of the last
/// kClock, plus overflows since. A kOwner and a kClock precede the first word of an owner, and another kClock precedes
/// a time that would otherwise be ambiguous. At level stamped all words have a time. At level trace, words of contended
/// acquisitions have one, and of the others each word while they are further apart than kTraceStampTicks, else about
/// one in that time, and at least one in kTraceStampMost.
///
/// **Positions** count words since the buffer was made. A writer reserves a position in RingSlot::trace_head first and
/// stores the word then, both without a system call: a signal handler that comes in between has the next one. The lap
/// bit is that of position / trace_words: a reader that finds the other one sees a word that is not stored yet (or
/// never will be: the handler left with a longjmp).
///
/// **Definition.** The triple (object, site, kind) of a word, numbered for the whole file, in a table that only grows.

#include <stdint.h>

#include "wire/sync.h"

#ifdef __cplusplus
namespace attune::wire {

enum class TraceOp : uint8_t {
  kNone = 0,
  kAcquired = 1,   ///< a lock, or a semaphore
  kReleased = 2,   ///< a lock; has the definition of its acquisition if known, else one without a site
  kSignalled = 3,  ///< a condition, semaphore or futex
  kOwner = 4,
  kClock = 5,
};
#endif

enum {
  kTraceDefinitionBytes = 32,
  kTraceDefinitions = 1 << 14,  ///< per file; number 0: the table was full
  kTraceDefinitionProbes = 16,
  kTraceStampMost = 256,
  kTraceStampTicks = 10000,  ///< 2.7 to 5 us. A clock reading costs as much as the acquisition itself
  kTraceOpBits = 4,
  kTraceDefinitionShift = 5,
  kTraceTimeShift = 19,
  kTraceTimeBits = 45,  ///< 2.6 hours of 3.7 GHz
  kTraceClockShift = 5,
  kTraceTidBits = 22,  ///< the kernel has no larger ids
  kTraceUsualWords = 32768,
  kTraceMinWords = 512,
  kTraceMaxWords = 1 << 22,
};

/// Entry of the table of definitions: open addressing, at most kTraceDefinitionProbes entries from the hash on.
typedef struct TraceDefinition {
  uint64_t key;  ///< hash of the others; 0: free. Taken by compare-and-swap
  uint64_t object;
  uint64_t site;
  uint8_t kind;  ///< SyncKind
  uint8_t pad[3];
  uint32_t ready;  ///< 1: the fields above are stored
} TraceDefinition;

#ifdef __cplusplus
static_assert(sizeof(TraceDefinition) == kTraceDefinitionBytes);
static_assert(kTraceDefinitionShift + 14 == kTraceTimeShift && kTraceTimeShift + kTraceTimeBits == 64);

constexpr uint64_t kTraceTimeMask = (uint64_t{1} << kTraceTimeBits) - 1;

/// @param lap whether the position is in an odd lap of its buffer
constexpr uint64_t TraceWord(TraceOp op, uint64_t lap, uint64_t definition, uint64_t time) {
  return static_cast<uint64_t>(op) | lap << kTraceOpBits | definition << kTraceDefinitionShift |
         (time & kTraceTimeMask) << kTraceTimeShift;
}

/// Hash of a definition: start of the search in the table, and the compared key; never 0.
constexpr uint64_t TraceKey(uint64_t object, uint64_t site, SyncKind kind) {
  uint64_t mixed =
      (object ^ site << 17 ^ site >> 47 ^ static_cast<uint64_t>(kind) << 56) * UINT64_C(0x9e3779b97f4a7c15);
  mixed ^= mixed >> 32;
  return mixed * UINT64_C(0xd6e8feb86659fd93) | 1;
}
}  // namespace attune::wire
#else
_Static_assert(sizeof(TraceDefinition) == kTraceDefinitionBytes, "layout");
#endif
