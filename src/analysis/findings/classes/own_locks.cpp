/// Waiting for locks that are not of the C library: lock-contention (docs/findings.md).

#include <fmt/format.h>

#include "analysis/findings/finding_input.h"
#include "analysis/findings/process_sums.h"
#include "analysis/waits/meeting.h"
#include "analysis/waits/own_lock.h"

namespace attune::analysis {
namespace {

using wire::SyncKind;

constexpr std::string_view kAdvice =
    "Do less while the lock is held, give parts of the data locks of their own, or keep results for each thread and "
    "join them at the end.";

/// The acquiring call site: that with most waiting.
model::ElementId WaitingSite(const ObjectSums& lock) {
  model::ElementId site = 0;
  int64_t most_ns = -1;
  for (const auto& [place, threads] : lock.places) {
    int64_t wait_ns = 0;
    for (const auto& [thread, counts] : threads) AddTo(wait_ns, counts.wait_ns);
    if (place.second == SyncKind::kWake || wait_ns <= most_ns) continue;
    most_ns = wait_ns;
    site = place.first;
  }
  return site;
}

}  // namespace

void FindOwnLocks(const FindingInput& input, std::vector<Finding>& findings) {
  SamePlaces places(input.names);
  const auto is_futex = [](SyncKind kind) { return kind == SyncKind::kFutex; };
  const auto is_enough = [&input](int64_t ns) { return input.IsEnough(ns); };
  for (const ObjectGroup& group : GroupObjects(input.waits.sums, input.meta, is_futex, is_enough, places)) {
    if (!IsOwnLock(group.sums) || IsMeeting(group.sums, input.names)) continue;
    const SyncCounts& total = group.sums.total;
    Finding finding = input.About(FindingClass::kLockContention, group);
    finding.site = input.names.PlaceOf(WaitingSite(group.sums));
    finding.advice = kAdvice;
    finding.confidence = Confidence::kMedium;
    finding.figures["waits"] = static_cast<double>(total.waits);
    finding.evidence.push_back(fmt::format(
        "{} threads waited {} there, and woke each other: it is a lock of the program's own, or of a library",
        finding.thread_count, TimesText(total.waits, total.wait_ns)));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
