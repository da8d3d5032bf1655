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
/// @thread one at a time
class PidNamespace {
 public:
  /// @param theirs a process's own number  @param ours the same process's, as we see it
  PidNamespace(HostRoot host, int32_t theirs, int32_t ours);

  /// What was found once is kept. A child that is gone before it was seen counts as the process that the namespace is
  /// known by; a thread that is gone keeps its own number.
  ThreadIds Ours(const ThreadIds& theirs);
  /// Whether it may live; false where /proc has none with that number.
  bool IsAlive(const ThreadIds& theirs);
  /// Threads whose numbers were not found.
  uint64_t unknown() const { return unknown_; }

 private:
  int32_t ProcessOf(int32_t theirs);
  bool LookFor(const ThreadIds& theirs);

  const HostRoot host_;
  const int32_t known_;
  const std::string space_;               ///< of the known process: "pid:[4026532177]"; "": cannot be read
  std::map<int32_t, int32_t> processes_;  ///< theirs: ours
  std::map<ThreadIds, ThreadIds> threads_;
  std::map<ThreadIds, ThreadIds> gone_;  ///< those that were not found, and what stands for them
  uint64_t unknown_ = 0;
};

/// Whether there may be such a thread in our PID namespace: false only if there certainly is none.
bool ThreadIsAlive(const ThreadIds& thread);

}  // namespace attune::track
