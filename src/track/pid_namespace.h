#pragma once
/// Translates process and thread ids from another PID namespace (containers, `unshare -p`) to the session's.

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

/// Maps ids of another PID namespace to ids of ours, by the NSpid lines of living threads in /proc.
/// Ids of threads that live, or were alive when looked up, are kept; a reused id belongs to another thread.
/// @thread one at a time
class PidNamespace {
 public:
  static constexpr size_t kMostThreads = 65536;

  /// @param theirs id of a process in its own namespace  @param ours id of the same process in ours
  /// @param most limit of kept threads, and of kept unknown threads
  PidNamespace(HostRoot host, int32_t theirs, int32_t ours, size_t most = kMostThreads);

  /// The ids in our namespace. A child that ended before the look-up counts as the process of the constructor; a thread
  /// that ended keeps its own id.
  /// @cost 0.1 us; for an unknown thread a listing of the process's threads (15 us each)
  ThreadIds Ours(const ThreadIds& theirs);
  /// The same without a look-up; nullptr: not known yet.
  const ThreadIds* Known(const ThreadIds& theirs) const;
  /// Forgets a possible earlier owner of the id: this thread has just begun.
  void Begins(const ThreadIds& theirs);
  /// Whether the thread may be alive: false only if /proc could be read and has no thread with this id.
  bool IsAlive(const ThreadIds& theirs);
  /// Begins a new round: look-ups that failed for lack of rights or memory are repeated.
  void LookAgain();
  /// Number of threads whose first look-up failed.
  uint64_t unknown() const { return unknown_; }

 private:
  enum class Presence : uint8_t { kThere, kGone, kUnknown };  ///< kUnknown: /proc is incomplete or unreadable
  struct Sight {
    Presence presence = Presence::kUnknown;
    ThreadIds ours;  ///< if kThere
  };
  struct StandIn {
    ThreadIds ours;
    bool is_final = false;   ///< the thread has certainly ended
    uint32_t looks = 0;      ///< failed look-ups
    uint64_t next_look = 0;  ///< round of the next look-up
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
  std::string space_;                     ///< namespace of known_: "pid:[4026532177]"; "": could not be read yet
  std::map<int32_t, int32_t> processes_;  ///< theirs: ours; also ended processes, for their last records
  std::map<ThreadIds, ThreadIds> threads_;
  std::map<ThreadIds, StandIn> stand_ins_;  ///< for threads that were not found
  ThreadIds swept_;                         ///< position of the last search of threads_ for ended threads
  uint64_t round_ = 0;
  uint32_t vain_looks_ = 0;  ///< failed look-ups of this round
  uint64_t unknown_ = 0;
};

/// False only if the process is certainly in another PID namespace than this one.
bool IsInOurPidNamespace(const HostRoot& host, int32_t pid);

/// Whether children of the process are created in another PID namespace than its own (`unshare` without an exec).
bool HasChildrenElsewhere(const HostRoot& host, int32_t pid);

/// Whether such a thread may exist in our PID namespace; false only if it certainly does not.
bool ThreadIsAlive(const ThreadIds& thread);

}  // namespace attune::track
