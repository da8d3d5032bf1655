#pragma once
/// Numbers of processes and threads that see themselves in another PID namespace (containers, `unshare -p`).

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/host_root.h"

namespace attune::track {

/// A process and one of its threads.
struct ThreadIds {
  int32_t pid = 0;
  int32_t tid = 0;

  auto operator<=>(const ThreadIds&) const = default;
};

/// Gives the numbers of our PID namespace for those of another, by what /proc says of threads that live: NSpid.
/// Numbers of threads that live, or lived when they were seen, are kept; a number that comes again is another thread's.
/// @thread one at a time
class PidNamespace {
 public:
  static constexpr size_t kMostThreads = 65536;

  /// @param theirs a process's own number  @param ours the same process's, as we see it
  /// @param most so many threads are kept, and so many that were not found
  PidNamespace(HostRoot host, int32_t theirs, int32_t ours, size_t most = kMostThreads);

  /// A child that is gone before it was seen counts as the process that the namespace is known by; a thread that is
  /// gone keeps its own number.
  /// @cost 0.1 us; a listing of the process's threads (15 us each) for one that is not known yet
  ThreadIds Ours(const ThreadIds& theirs);
  /// The same where it is known already; nullptr: it is not.
  const ThreadIds* Known(const ThreadIds& theirs) const;
  /// A thread says that it begins: the number may have been another's before.
  void Begins(const ThreadIds& theirs);
  /// Whether it may live: false only where /proc could be read and has none with that number.
  bool IsAlive(const ThreadIds& theirs);
  /// A new round of records: threads that /proc did not show for want of rights or memory are looked for again.
  void LookAgain();
  /// Threads whose numbers were not found, at least at first.
  uint64_t unknown() const { return unknown_; }

 private:
  enum class Presence : uint8_t { kThere, kGone, kUnknown };  ///< kUnknown: /proc does not show all, or not now
  struct Sight {
    Presence presence = Presence::kUnknown;
    ThreadIds ours;  ///< where it is there
  };
  struct StandIn {
    ThreadIds ours;
    bool is_final = false;   ///< it is gone for certain
    uint32_t looks = 0;      ///< in vain
    uint64_t next_look = 0;  ///< not before this round
  };

  const std::string& Space();
  bool IsStill(int32_t ours, int32_t theirs);
  Sight FindProcess(int32_t theirs);
  Sight LookFor(const ThreadIds& theirs);
  Sight LookIn(int32_t process, const ThreadIds& theirs);
  void Keep(const ThreadIds& theirs, const ThreadIds& ours, bool is_wanted);
  void KeepProcess(int32_t theirs, int32_t ours);
  const StandIn& LookedInVain(const ThreadIds& theirs, bool is_final);

  const HostRoot host_;
  const int32_t known_theirs_;
  const int32_t known_;  ///< the same process
  const size_t most_;
  std::string space_;                     ///< of the known process: "pid:[4026532177]"; "": could not be read yet
  std::map<int32_t, int32_t> processes_;  ///< theirs: ours; also of those that are gone, for their last records
  std::map<ThreadIds, ThreadIds> threads_;
  std::map<ThreadIds, StandIn> stand_ins_;  ///< for those that were not found
  ThreadIds swept_;                         ///< the last of threads_ that was tested for room
  uint64_t round_ = 0;
  uint32_t vain_looks_ = 0;  ///< of this round
  uint64_t unknown_ = 0;
};

/// False only if the process certainly is in another PID namespace than we.
bool IsInOurPidNamespace(const HostRoot& host, int32_t pid);

/// Whether a process makes its children in another PID namespace than its own: `unshare` without an exec.
bool HasChildrenElsewhere(const HostRoot& host, int32_t pid);

/// Whether there may be such a thread in our PID namespace: false only if there certainly is none.
bool ThreadIsAlive(const ThreadIds& thread);

}  // namespace attune::track
