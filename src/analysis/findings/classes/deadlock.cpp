/// Threads that wait for each other, so that none can go on: deadlock (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/finding_input.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr FindingClass kDeadlock{
    .name = "deadlock", .about = "Threads wait for each other, and none can go on", .cost = Cost::kHang};

constexpr std::string_view kAdvice =
    "Nothing but an end from outside gets the program out of this. Take locks in the same order everywhere, or all at "
    "once (std::scoped_lock does it), wait for no thread or process with a lock in hand that it needs, and read what "
    "the other side writes before writing more than a pipe holds.";

std::string WhatFor(const FindingInput& input, const StuckWait& wait) {
  const std::string name = input.meta.NameOf(wait.object);
  if (wait.kind == SyncKind::kJoin) return "for the end of it";
  if (wait.kind == SyncKind::kFile) return "for it to take or give what goes through a pipe";
  return fmt::format("for {}, which it has", name.empty() ? "a lock" : name);
}

void Add(const FindingInput& input, const StuckWait& wait, Finding& finding) {
  const FindingThread thread = input.Thread(wait.thread, wait.until_ns - wait.since_ns);
  const CodePlace place = input.names.PlaceOf(wait.site);
  AddTo(finding.lost_ns, thread.lost_ns);
  const std::string other = wait.owner == wait.thread ? "itself" : "thread " + ThreadText(input.Thread(wait.owner, 0));
  finding.evidence.push_back(fmt::format("thread {} waits since {} at {} for {}: {}", ThreadText(thread),
                                         FormatDuration(thread.lost_ns), PlaceText(place), other,
                                         WhatFor(input, wait)));
  finding.places.push_back({place, fmt::format("thread {} waits", ThreadText(thread))});
  for (const auto& [lock, site] : wait.held) {
    const CodePlace from = input.names.PlaceOf(site);
    finding.evidence.push_back(
        fmt::format("thread {} has {} from {}", ThreadText(thread), input.meta.NameOf(lock), PlaceText(from)));
    finding.places.push_back({from, fmt::format("{} is acquired", input.meta.NameOf(lock))});
  }
  finding.threads.push_back(thread);
}

}  // namespace

void FindDeadlock(const FindingInput& input, std::vector<Finding>& findings) {
  int64_t now_ns = 0;
  for (const ThreadLife& life : input.waits.lives) now_ns = std::max(now_ns, life.end_ns);
  for (const WaitCircle& circle : input.Of<StuckWaits>().Circles(input.waits.lives, now_ns)) {
    Finding finding{.kind = kDeadlock, .advice = std::string(kAdvice), .confidence = Confidence::kHigh};
    finding.site = input.names.PlaceOf(circle.front().site);
    finding.object = circle.front().object;
    finding.object_name = input.meta.NameOf(finding.object);
    for (const StuckWait& wait : circle) Add(input, wait, finding);
    finding.thread_count = static_cast<int64_t>(circle.size());
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.figures["threads"] = static_cast<double>(circle.size());
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
