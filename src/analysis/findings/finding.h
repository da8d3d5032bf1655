#pragma once
/// What holds a program back: each finding names a kind of loss, how much of it there is, where it comes from and what
/// can be done about it. One formula a class, written in docs/findings.md.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/places/code_place.h"
#include "analysis/waits/wait_summary.h"
#include "model/source.h"

namespace attune::analysis {

enum class FindingClass : uint8_t {
  kLockContention = 1,  ///< threads wait for a lock that others hold
  kLockConvoy,          ///< threads queue for a lock that is held briefly, and queue again at once
  kLoadImbalance,       ///< the same threads are late at a barrier time after time
  kWaitAtBarrier,       ///< threads wait at a barrier, now for this one, now for that one
  kConditionWait,       ///< threads wait to be woken by what does not keep up
  kSerialisation,       ///< the threads take turns: one goes on, the others wait
  kOversubscription,    ///< more threads could run than there are CPUs
  kIoWait,              ///< threads wait for disks
  kFalseSharing,        ///< threads use different parts of one cache line, and take it away from each other
  kRemoteMemory,        ///< threads use memory that lies on another NUMA node
  kLockOrderCycle,      ///< threads take locks in orders that contradict each other: they may hang
  kLateSender,          ///< ranks wait for messages that others send late
  kLateReceiver,        ///< ranks wait to get rid of messages that others receive late
  kWaitAtCollective,    ///< ranks wait in a collective operation for those that come late
  kSmallMessages,       ///< ranks send so many small messages that what each of them costs adds up
  kRankPlacement,       ///< ranks that send each other much are far from each other
};
/// "lock-contention", ...; "?" for one that does not exist.
std::string_view ToString(FindingClass kind);

/// How sure it is that the cause is the one named; the time is measured.
enum class Confidence : uint8_t { kLow = 1, kMedium, kHigh };
std::string_view ToString(Confidence confidence);

struct FindingThread {
  model::ElementId id = 0;
  int64_t pid = model::kAbsent;
  int64_t tid = model::kAbsent;
  std::string name;     ///< "": it has none
  int64_t lost_ns = 0;  ///< of the finding's time
};

/// A place in the code that has a part in a finding.
struct FindingPlace : CodePlace {
  std::string what;  ///< is done there: "mutex 0x7f5500001040 is acquired"
};

struct Finding {
  FindingClass kind = FindingClass::kLockContention;
  int64_t lost_ns = 0;  ///< waited by all threads together; 0: what may happen, but did not
  double share = 0;     ///< lost_ns by the lives of all threads together
  CodePlace site;       ///< the cause; without a name: no one place
  model::ElementId object = 0;
  std::string object_name;               ///< "mutex 0x7f5500001040"; "": no one object
  std::vector<FindingThread> threads;    ///< that waited: most first, at most kMaxThreads
  int64_t thread_count = 0;              ///< all that waited
  std::vector<FindingThread> caused_by;  ///< whom they waited for, as far as that is known: most first
  std::vector<WaitSite> waiters;         ///< where they waited, most first
  std::vector<FindingPlace> places;      ///< of which it is made, where that is more than `site`
  std::vector<std::string> evidence;     ///< sentences
  std::map<std::string, double> figures;
  std::string advice;
  Confidence confidence = Confidence::kMedium;

  static constexpr size_t kMaxThreads = 32;
};

/// Less than this is never a finding, of any class: a tenth of a second is the least that a person notices, and what is
/// lost in a program of a moment, where threads start and end, says nothing about one that runs for long.
inline constexpr double kLeastShare = 0.02;
inline constexpr int64_t kLeastLostNs = 100'000'000;

struct FindingInput;

/// @return most lost time first; empty: nothing holds the program back that can be seen
std::vector<Finding> FindFindings(const FindingInput& input);

}  // namespace attune::analysis
