#pragma once
/// Totals that the kernel accounts of a program anyway, its exec included: CPU time, switches, page faults of all its
/// threads and of the children that it waits for. It costs the program nothing, whatever it starts, where an inherited
/// event of perf is copied into each new thread.

#include <cstdint>

#include "counter/event.h"

namespace attune::counter {

/// Totals of a process or thread.
struct AccountedUse {
  int64_t cpu_ns = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t switches = 0;
  int64_t migrations = 0;  ///< of threads alone

  /// Nothing gets less than 0.
  AccountedUse operator-(const AccountedUse& before) const;
};

/// Whether the kernel accounts it for processes: task-clock, page faults and context switches, in the program and in
/// the kernel together.
bool IsAccounted(const NamedEvent& event);
/// The same for threads: these, and migrations.
bool IsAccountedOfThreads(const NamedEvent& event);
/// @pre IsAccountedOfThreads(event)
double AccountedCount(const NamedEvent& event, const AccountedUse& use);

}  // namespace attune::counter
