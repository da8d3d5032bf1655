#pragma once
/// Counts events of a program, of processes or of CPUs, without a session: nothing is recorded, and the program has no
/// probe.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counter/counter_set.h"
#include "counter/event_group.h"
#include "session/host/launch.h"

namespace attune::cli {

/// CPU time of a program, of all its threads and of the children that it waited for.
struct CpuSeconds {
  double user = 0, system = 0;
};

/// Counts of one run, in the order of the events; then the metrics.
struct RunCounts {
  double seconds = 0;
  std::optional<CpuSeconds> cpu;  ///< of the program, where there is one
  std::vector<counter::EventCount> counts;
  std::vector<counter::EventNote> notes;
  session::ExitStatus exit;  ///< of the program; where there is none, of nobody
};

/// CPUs on which the program and attune run; empty: as it was.
struct Binding {
  CpuSet program, attune;
};
/// A child that waits to be let go, on its CPUs. @param program_mask as session::Child::Fork
Result<session::Child> ForkBound(const std::vector<std::string>& program, const Binding& binding,
                                 const sigset_t& program_mask);

struct CountOptions {
  std::vector<counter::NamedEvent> events;
  std::vector<counter::EventNote> left_out;  ///< events that were asked for and that this machine cannot count
  counter::GroupMetrics metrics;             ///< behind the counts of the events
  int64_t every_ns = 0;                      ///< > 0: counts are also told each time that this has passed
  int64_t most_rows = INT64_MAX;  ///< with every_ns: then no more are told, and without a program it is the end
  int64_t for_ns = 0;             ///< > 0: without a program, the end
  Binding binding;
  /// With every_ns; also of the last part of one. false: no more are told, and without a program it is the end.
  std::function<bool(double seconds, const std::vector<counter::EventCount>& since_before)> tell;
};

/// Runs the program to its end.
Result<RunCounts> CountProgram(const std::vector<std::string>& program, const CountOptions& options);
/// Counts until somebody asks us to end, the process has ended, the time is over, or nobody is told any more.
/// @param pid 0: all that run on the CPUs  @param cgroup_fd of these only what runs in the control group; -1: all
Result<RunCounts> CountRunning(pid_t pid, const CpuSet& cpus, int cgroup_fd, const CountOptions& options);

}  // namespace attune::cli
