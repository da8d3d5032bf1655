#pragma once
/// What holds a program back: each finding names a kind of loss, how much of it there is, where it comes from and what
/// can be done about it. One formula a class, written in docs/findings.md.

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/places/code_place.h"
#include "analysis/waits/wait_summary.h"
#include "model/source.h"

namespace attune::analysis {

/// A kind of loss. A class of findings is a file of findings/classes, which may have its own; these are
/// known everywhere.
struct FindingClass {
  std::string_view name;   ///< "lock-contention"
  std::string_view about;  ///< for people
  bool of_ranks = false;   ///< of an MPI job, which have a timeline of their own

  bool operator==(const FindingClass& other) const { return name == other.name; }
  auto operator<=>(const FindingClass& other) const { return name <=> other.name; }

  static const FindingClass kLockContention, kLockConvoy, kLoadImbalance, kWaitAtBarrier, kConditionWait,
      kSerialisation, kOversubscription, kIoWait, kFalseSharing, kRemoteMemory, kLockOrderCycle, kLateSender,
      kLateReceiver, kWaitAtCollective, kSmallMessages, kRankPlacement;
};
inline constexpr FindingClass FindingClass::kLockContention{"lock-contention",
                                                            "Threads wait for a lock that others hold"};
inline constexpr FindingClass FindingClass::kLockConvoy{
    "lock-convoy", "Threads queue for a lock that is held briefly, and queue again at once"};
inline constexpr FindingClass FindingClass::kLoadImbalance{"load-imbalance",
                                                           "The same threads are late at a barrier time after time"};
inline constexpr FindingClass FindingClass::kWaitAtBarrier{
    "wait-at-barrier", "Threads wait at a barrier, now for this one, now for that one"};
inline constexpr FindingClass FindingClass::kConditionWait{"condition-wait",
                                                           "Threads wait to be woken by what does not keep up"};
inline constexpr FindingClass FindingClass::kSerialisation{"serialisation",
                                                           "The threads take turns: one goes on, the others wait"};
inline constexpr FindingClass FindingClass::kOversubscription{"oversubscription",
                                                              "More threads could run than there are CPUs"};
inline constexpr FindingClass FindingClass::kIoWait{"io-wait", "Threads wait for disks"};
inline constexpr FindingClass FindingClass::kFalseSharing{
    "false-sharing", "Threads use different parts of one cache line, and take it away from each other"};
inline constexpr FindingClass FindingClass::kRemoteMemory{"remote-memory",
                                                          "Threads use memory that lies on another NUMA node"};
inline constexpr FindingClass FindingClass::kLockOrderCycle{
    "lock-order-cycle", "Threads take locks in orders that contradict each other: they may hang"};
inline constexpr FindingClass FindingClass::kLateSender{"late-sender", "Ranks wait for messages that others send late",
                                                        true};
inline constexpr FindingClass FindingClass::kLateReceiver{
    "late-receiver", "Ranks wait to get rid of messages that others receive late", true};
inline constexpr FindingClass FindingClass::kWaitAtCollective{
    "wait-at-collective", "Ranks wait in collective operations for one that comes late", true};
inline constexpr FindingClass FindingClass::kSmallMessages{"small-messages",
                                                           "So many small messages that what each costs adds up", true};
inline constexpr FindingClass FindingClass::kRankPlacement{"rank-placement", "Ranks that exchange much are far apart",
                                                           true};

inline std::string_view ToString(const FindingClass& kind) { return kind.name; }

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

}  // namespace attune::analysis
