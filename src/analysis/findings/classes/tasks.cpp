/// Waiting for tasks of OpenMP that others still work on: load-imbalance (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/findings/process_sums.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

/// As at a barrier, where even a balanced program waits a little.
constexpr double kLeastTaskWaitShare = 0.05;

constexpr std::string_view kAdvice =
    "Threads have no task left while others still work on one: make more and smaller tasks, the longest ones first.";

/// Waiting for tasks whose threads found no CPU, at most: that is no fault of how the work is divided. Who waits itself
/// may queue as well, in its runtime: nobody waits for that.
int64_t ExplainedByQueues(const FindingInput& input, const ObjectGroup& group) {
  const auto processes = input.ByProcess(group);
  const auto by_thread = group.sums.ByThread();
  const double others = std::max(1.0, static_cast<double>(by_thread.size()) - 1);
  double explained_ns = 0;
  for (const ThreadLife& life : input.waits.lives) {
    const auto times = input.times.by_thread.find(life.thread);
    if (times == input.times.by_thread.end() || !processes.contains(life.process)) continue;
    const auto waited = by_thread.find(life.thread);
    const double waiting = waited == by_thread.end() ? 0 : PartOf(waited->second.wait_ns, life.LengthNs());
    explained_ns += times->second.queue_ns * std::max(0.0, 1 - waiting) * others;
  }
  return static_cast<int64_t>(std::clamp(explained_ns, 0.0, 9e18));
}

/// Whether the tasks are said to follow each other.
bool TakeTurns(const Finding& waits, const std::vector<Finding>& findings) {
  std::set<int64_t> pids;
  for (const FindingThread& thread : waits.threads) pids.insert(thread.pid);
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.kind == FindingClass::kSerialisation &&
           std::ranges::any_of(finding.threads, [&](const auto& thread) { return pids.contains(thread.pid); });
  });
}

}  // namespace

void FindTasks(const FindingInput& input, std::vector<Finding>& findings) {
  SamePlaces places(input.names);
  const auto is_enough = [&input](int64_t ns) { return input.IsEnough(ns, kLeastTaskWaitShare); };
  for (const ObjectGroup& group : GroupObjects(input.waits.sums, input.meta, IsTaskWait, is_enough, places)) {
    const SyncCounts& total = group.sums.total;
    const int64_t explained_ns = ExplainedByQueues(input, group);
    if (!is_enough(total.wait_ns - std::min(total.wait_ns, explained_ns))) continue;
    Finding finding = AboutBusiest(input, FindingClass::kLoadImbalance, group);
    if (TakeTurns(finding, findings)) continue;
    finding.advice = kAdvice;
    finding.confidence = input.times.by_thread.empty() ? Confidence::kMedium : Confidence::kHigh;
    finding.figures["queue_seconds"] = static_cast<double>(explained_ns) * 1e-9;
    finding.evidence.push_back(
        fmt::format("{} thread{} waited {} for tasks that others still worked on, and had none to do",
                    finding.thread_count, finding.thread_count == 1 ? "" : "s", TimesText(total.waits, total.wait_ns)));
    if (explained_ns > 0)
      finding.evidence.push_back(fmt::format("at most {} of it because threads had to wait for a CPU",
                                             FormatDuration(std::min(explained_ns, total.wait_ns))));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
