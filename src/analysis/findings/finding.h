#pragma once
/// Findings about a program's losses: each names a kind of loss, how much of it there is, where it comes from and what
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

/// Cost of a class of findings, and so what could be gained without it (gain.h).
enum class Cost : uint8_t {
  kWaiting,      ///< time that threads did not run
  kCpuTime,      ///< time on CPUs that was of no use
  kCorrectness,  ///< nothing yet: it is a finding whatever it lost, and could gain
  kHang,         ///< the program could not go on: comes before all others
};

/// Whether a finding may be what another one looks like (overlap.h).
enum class Shows : uint8_t {
  kCause,
  kTurns,   ///< threads of a process take turns, or wait to be woken
  kQueues,  ///< threads wait for CPUs
};

/// A kind of loss. A class of findings is a file of findings/classes, which may have its own; these are
/// known everywhere.
struct FindingClass {
  std::string_view name;   ///< "lock-contention"
  std::string_view about;  ///< for people
  bool of_ranks = false;   ///< about the ranks of an MPI job, which have a timeline of their own
  Cost cost = Cost::kWaiting;
  bool explains_turns = false;   ///< that threads take turns, or wait to be woken, is what it looks like (overlap.h)
  bool of_others = false;        ///< about other programs, not about this one
  bool explains_queues = false;  ///< that threads wait for CPUs is what it looks like
  Shows shows = Shows::kCause;
  /// It takes CPUs and holds nobody up: the run gets shorter only by what threads of the program queued for them.
  bool takes_cpus_only = false;
  bool of_lone_threads = false;  ///< one thread alone could run: it is the cause (lone_causes.h)

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
inline constexpr FindingClass FindingClass::kConditionWait{
    .name = "condition-wait", .about = "Threads wait to be woken by what does not keep up", .shows = Shows::kTurns};
inline constexpr FindingClass FindingClass::kSerialisation{
    .name = "serialisation", .about = "The threads take turns: one goes on, the others wait", .shows = Shows::kTurns};
inline constexpr FindingClass FindingClass::kOversubscription{
    .name = "oversubscription", .about = "More threads could run than there are CPUs", .shows = Shows::kQueues};
inline constexpr FindingClass FindingClass::kIoWait{"io-wait", "Threads wait for disks"};
inline constexpr FindingClass FindingClass::kFalseSharing{
    "false-sharing", "Threads use different parts of one cache line, and take it away from each other", false,
    Cost::kCpuTime};
inline constexpr FindingClass FindingClass::kRemoteMemory{
    "remote-memory", "Threads use memory that lies on another NUMA node", false, Cost::kCpuTime};
inline constexpr FindingClass FindingClass::kLockOrderCycle{
    "lock-order-cycle", "Threads take locks in orders that contradict each other: they may hang", false,
    Cost::kCorrectness};
inline constexpr FindingClass FindingClass::kLateSender{"late-sender", "Ranks wait for messages that others send late",
                                                        true};
inline constexpr FindingClass FindingClass::kLateReceiver{
    "late-receiver", "Ranks wait to get rid of messages that others receive late", true};
inline constexpr FindingClass FindingClass::kWaitAtCollective{
    "wait-at-collective", "Ranks wait in collective operations for one that comes late", true};
inline constexpr FindingClass FindingClass::kSmallMessages{
    "small-messages", "So many small messages that what each costs adds up", true, Cost::kCpuTime};
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
  int64_t lost_ns = 0;  ///< part of the finding's time
};

/// A place in the code that has a part in a finding.
struct FindingPlace : CodePlace {
  std::string what;  ///< is done there: "mutex 0x7f5500001040 is acquired"
};

struct Finding {
  FindingClass kind = FindingClass::kLockContention;
  int64_t lost_ns = 0;  ///< waited by all threads together; 0: what may happen, but did not
  double share = 0;     ///< lost_ns by the lives of all threads together
  /// The run would be shorter by so much at most if this loss were gone. A class that knows it better than BoundGains()
  /// sets it.
  int64_t gain_ns = kUnknownGain;
  CodePlace site;  ///< the cause; without a name: no one place
  model::ElementId object = 0;
  std::string object_name;               ///< "mutex 0x7f5500001040"; "": no one object
  std::vector<FindingThread> threads;    ///< that waited: most first, at most kMaxThreads
  int64_t thread_count = 0;              ///< all that waited
  std::vector<FindingThread> caused_by;  ///< threads that they waited for, as far as known: most first
  std::vector<WaitSite> waiters;         ///< places at which they waited, most first
  std::vector<FindingPlace> places;      ///< its parts, where these are more than `site`
  std::vector<std::string> evidence;     ///< sentences
  std::map<std::string, double> figures;
  std::string advice;
  Confidence confidence = Confidence::kMedium;

  static constexpr size_t kMaxThreads = 32;
  static constexpr int64_t kUnknownGain = -1;
};

/// Less than this is never a finding, of any class: a tenth of a second is the least that a person notices, and what is
/// lost in a program of a moment, where threads start and end, says nothing about one that runs for long.
inline constexpr double kLeastShare = 0.02;
inline constexpr int64_t kLeastLostNs = 100'000'000;

}  // namespace attune::analysis
