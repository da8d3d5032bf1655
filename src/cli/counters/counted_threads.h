#pragma once
/// Counts events of each thread of a program or process, without a session.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/counters/counted_run.h"
#include "cli/counters/thread_row.h"
#include "kernel/thread_counts.h"

namespace attune::cli {

struct ThreadRun {
  double seconds = 0;
  std::vector<ThreadRow> rows;  ///< one a thread; none where they are told meanwhile
  std::vector<counter::EventNote> notes;
  session::ExitStatus exit;  ///< of the program; where there is none, of nobody
};

class RowModules;

struct ThreadOptions {
  std::vector<counter::NamedEvent> events;
  std::vector<counter::EventNote> left_out;  ///< as CountOptions
  counter::GroupMetrics metrics;             ///< behind the counts of the events
  RowModules* modules = nullptr;             ///< whose virtual counters are behind the metrics; nullptr: none
  CpuSet online;
  int64_t every_ns = 0;     ///< > 0: each living thread is told each time that this has passed
  bool migrations = false;  ///< each thread is told each time that it moves to another CPU
  bool self = false;        ///< ... that it takes a sample of itself
  std::vector<counter::SampledEvent>
      periods;                    ///< each thread is told each time that an event has occurred so often in it
  int64_t most_rows = INT64_MAX;  ///< as CountOptions
  uint32_t buffer_bytes = kThreadRowsBytes;  ///< of rows that were not taken yet
  int64_t for_ns = 0;                        ///< > 0: without a program, the end
  Binding binding;
  /// With every_ns, periods, migrations or self: what was counted since the thread's row before.
  /// false: none is told any more, and without a program it is the end.
  std::function<bool(const ThreadRow&)> tell;
};

/// Runs the program to its end.
Result<ThreadRun> CountThreadsOfProgram(const std::vector<std::string>& program, const ThreadOptions& options);
/// Counts until somebody asks us to end, the process has ended, or the time is over.
Result<ThreadRun> CountThreadsOfProcess(pid_t pid, const ThreadOptions& options);

}  // namespace attune::cli
