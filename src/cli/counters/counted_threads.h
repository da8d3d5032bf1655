#pragma once
/// Counts events of each thread of a program or process, without a session.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/counters/counted_run.h"
#include "counter/thread_counting.h"

namespace attune::cli {

/// A thread's counts as they are told.
struct ThreadRow {
  /// Why there is a row.
  enum class Kind : uint8_t {
    kExit,       ///< it ended
    kTick,       ///< a time has passed, or the counting ended; it lives
    kEbs,        ///< an event has occurred as often as its period says (event-based sampling); it lives
    kMigration,  ///< it moved to another CPU
    kRest        ///< no thread: those that were too short-lived to be seen
  };
  Kind kind = Kind::kExit;
  double seconds = 0;  ///< since the counting began
  double lived_s = 0;  ///< while it counted: since its start, or since its row before
  int core_type = 0;   ///< of the CPU that it was on last: 0 is the most capable (counter::CoreTypes)
  counter::ThreadCounts thread;
};
std::string_view KindName(ThreadRow::Kind kind);

struct ThreadRun {
  double seconds = 0;
  std::vector<ThreadRow> rows;  ///< one a thread; none where they are told meanwhile
  std::vector<counter::EventNote> notes;
  session::ExitStatus exit;  ///< of the program; where there is none, of nobody
};

struct ThreadOptions {
  std::vector<counter::NamedEvent> events;
  std::vector<counter::EventNote> left_out;  ///< as CountOptions
  counter::GroupMetrics metrics;             ///< behind the counts of the events
  CpuSet online;
  int64_t every_ns = 0;     ///< > 0: each living thread is told each time that this has passed
  bool migrations = false;  ///< each thread is told each time that it moves to another CPU
  std::vector<counter::SampledEvent>
      periods;                    ///< each thread is told each time that an event has occurred so often in it
  int64_t most_rows = INT64_MAX;  ///< as CountOptions
  int64_t for_ns = 0;             ///< > 0: without a program, the end
  Binding binding;
  /// With every_ns, periods or migrations: what was counted since the thread's row before.
  /// false: none is told any more, and without a program it is the end.
  std::function<bool(const ThreadRow&)> tell;
};

/// Runs the program to its end.
Result<ThreadRun> CountThreadsOfProgram(const std::vector<std::string>& program, const ThreadOptions& options);
/// Counts until somebody asks us to end, the process has ended, or the time is over.
Result<ThreadRun> CountThreadsOfProcess(pid_t pid, const ThreadOptions& options);

}  // namespace attune::cli
