#pragma once
/// Totals that the kernel accounts of a program anyway, from its exec on: CPU time, switches, page faults of all its
/// threads and of the children that it waits for. It costs the program nothing, whatever it starts, where an inherited
/// event of perf is copied into each new thread.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/host_root.h"
#include "base/unique_fd.h"
#include "counter/event.h"
#include "counter/perf_open.h"

namespace attune::counter {

/// Totals of a process or thread.
struct AccountedUse {
  int64_t cpu_ns = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t switches = 0;
  int64_t migrations = 0;  ///< of threads alone
};

/// Whether the kernel accounts it for processes: task-clock, page faults and context switches, in the program and in
/// the kernel together.
bool IsAccounted(const NamedEvent& event);
/// The same for threads: these, and migrations.
bool IsAccountedOfThreads(const NamedEvent& event);
/// @pre IsAccountedOfThreads(event)
double AccountedCount(const NamedEvent& event, const AccountedUse& use);

/// Use of a process before it becomes the program, which is not the program's.
class UseBeforeExec {
 public:
  /// @param pid a child that waits to be let go, before its exec  @cost 0.2 ms
  UseBeforeExec(const HostRoot& host, const PerfOpen& open, pid_t pid);
  /// To call as soon as it has become the program: from then on nothing is counted, which would cost the program.
  /// Idempotent.
  void End();
  /// @pre End()  @param all totals of the process and what it waited for
  AccountedUse Subtract(const AccountedUse& all) const;

 private:
  struct Pair {
    UniqueFd from_here, from_exec;  ///< the same event of the one thread
  };
  AccountedUse before_;         ///< up to its exec
  std::vector<Pair> counting_;  ///< as AccountedUse's members; from the constructor to End()
};

}  // namespace attune::counter
