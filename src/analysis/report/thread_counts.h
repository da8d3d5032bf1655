#pragma once
/// Events of each thread in a recording (attune run --count, docs/counters.md).

#include <optional>
#include <string>
#include <vector>

#include "analysis/documents/json_rows.h"
#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

struct ThreadCountRow {
  model::ElementId element = 0;  ///< the thread; the machine: all threads that were too short-lived to be seen
  model::ElementId process = 0;  ///< 0: not known, as of the machine's row
  int64_t pid = model::kAbsent;  ///< kAbsent in the machine's row
  int64_t tid = model::kAbsent;
  std::string name;
  std::string process_name;
  int64_t start_ns = model::kAbsent;
  int64_t end_ns = model::kAbsent;  ///< kAbsent: it lived on
  std::vector<double> counts;       ///< by event; scaled where the event was counted a part of the time
};

struct CpuCountRow {
  std::string host;               ///< of the threads
  int64_t cpu = model::kAbsent;   ///< kAbsent: it is not known of these counts
  int64_t type = model::kAbsent;  ///< kind of its core, 0 is the most capable; kAbsent: not known
  std::vector<double> counts;     ///< by event, of all threads
};

struct CoreTypeCountRow {
  int64_t type = model::kAbsent;  ///< as CpuCountRow
  size_t cpus = 0;                ///< on which was counted
  std::vector<double> counts;     ///< by event, of all threads
};

struct ThreadCounts {
  std::vector<std::string> events;      ///< as they were asked for; one that never occurred is missing
  std::vector<ThreadCountRow> threads;  ///< those with most of the first event first
  std::vector<CpuCountRow> cpus;        ///< by host and CPU; empty: older recordings do not say on which was counted
  std::vector<CoreTypeCountRow> core_types;  ///< empty: all cores are of one kind
  std::vector<double> totals;                ///< by event
  std::vector<bool> is_scaled;               ///< by event: it shared a counter somewhere
};

/// @param range only rows whose time lies in it; a row counts where it stands, with all since the thread's row before.
/// nullopt: all  @cost a row a second, thread and event
Result<ThreadCounts> SumThreadCounts(model::Source& source, const std::optional<model::TimeRange>& range = {});

/// `event`, `unit`, `count` (of all threads) and `scaled` of each event.
Json CountedEventsJson(const ThreadCounts& counts);
/// `cpus` (`host`, `cpu`, `core_type`, null where it is not known, and `counts`) and `core_types` (`core_type`, `cpus`
/// and `counts`).
void AddCpuCounts(const ThreadCounts& counts, Json& json);
Json ThreadCountsJson(const ThreadCounts& counts);

}  // namespace attune::analysis
