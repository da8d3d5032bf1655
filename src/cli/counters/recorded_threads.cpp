#include "cli/counters/recorded_threads.h"

#include <fmt/format.h>

#include "analysis/report/thread_counts.h"
#include "base/text.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

ThreadRow RowOf(const analysis::ThreadCountRow& recorded, const model::TimeRange& extent) {
  ThreadRow row{.kind = ThreadRow::Kind::kRest, .thread = {.name = recorded.name}};
  for (const double count : recorded.counts) row.thread.counts.push_back({.value = count, .is_known = true});
  const bool lives = recorded.end_ns == model::kAbsent;
  const int64_t end_ns = lives ? extent.t1_ns : recorded.end_ns;
  const int64_t start_ns = recorded.start_ns == model::kAbsent ? extent.t0_ns : recorded.start_ns;
  row.seconds = static_cast<double>(end_ns - extent.t0_ns) * 1e-9;
  row.lived_s = static_cast<double>(end_ns - start_ns) * 1e-9;
  if (recorded.tid == model::kAbsent) return row;
  row.kind = lives ? ThreadRow::Kind::kTick : ThreadRow::Kind::kExit;
  row.thread.tid = static_cast<pid_t>(recorded.tid);
  row.thread.pid = recorded.pid == model::kAbsent ? 0 : static_cast<pid_t>(recorded.pid);
  return row;
}

}  // namespace

Result<ThreadRun> ThreadsOfRecording(const std::string& file, const std::vector<std::string>& groups,
                                     ThreadOptions& what) {
  ATTUNE_TRY(const auto source, store::OpenRecording(file));
  ATTUNE_TRY(const analysis::ThreadCounts counts, analysis::SumThreadCounts(*source));
  if (counts.events.empty())
    return Error{Errc::kNotFound, fmt::format("{}: no counts of threads were recorded", file),
                 "attune run --count task-clock,page-faults -- PROGRAM"};
  for (const std::string& event : counts.events)
    what.events.push_back({event, {counter::Event()}, std::string(counter::UnitOf(event))});
  ATTUNE_TRY(const std::vector<counter::EventGroup> all, counter::AllGroups());
  for (const std::string& list : groups) {
    for (const std::string_view name : Split(list, ",")) {
      ATTUNE_TRY(const counter::EventGroup* const group, counter::FindGroup(all, name));
      what.metrics.AddRecorded(*group, what.events);
    }
  }
  const model::TimeRange extent = source->Extent();
  ThreadRun run{.seconds = static_cast<double>(extent.t1_ns - extent.t0_ns) * 1e-9};
  for (const analysis::ThreadCountRow& thread : counts.threads) {
    run.rows.push_back(RowOf(thread, extent));
    what.metrics.Complete(run.rows.back().thread.counts, run.rows.back().lived_s);
  }
  run.notes = what.metrics.notes();
  return run;
}

}  // namespace attune::cli
