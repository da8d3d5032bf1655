#pragma once
/// Events of each thread in a recording (attune run --count, docs/counters.md).

#include <string>
#include <vector>

#include "analysis/documents/json_rows.h"
#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

struct ThreadCountRow {
  int64_t pid = model::kAbsent;  ///< kAbsent: all threads that were too short-lived to be seen
  int64_t tid = model::kAbsent;
  std::string name;
  int64_t start_ns = model::kAbsent;
  int64_t end_ns = model::kAbsent;  ///< kAbsent: it lived on
  std::vector<double> counts;       ///< by event; scaled where the event was counted a part of the time
};

struct ThreadCounts {
  std::vector<std::string> events;      ///< as they were asked for; one that never occurred is missing
  std::vector<ThreadCountRow> threads;  ///< those with most of the first event first
  std::vector<double> totals;           ///< by event
  std::vector<bool> is_scaled;          ///< by event: it shared a counter somewhere

  /// CPU time is counted in ns.
  static bool IsTime(const std::string& event) {
    return event.starts_with("task-clock") || event.starts_with("cpu-clock");
  }
};

/// @cost a row a second, thread and event
Result<ThreadCounts> SumThreadCounts(model::Source& source);

Json ThreadCountsJson(const ThreadCounts& counts);

}  // namespace attune::analysis
