/// Locks that are taken in orders which contradict each other: lock-order-cycle (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr std::string_view kAdvice =
    "Take these locks in the same order everywhere, or all at once (std::scoped_lock does it), or only try the second "
    "one and give the first one back where it is not to be had.";

std::string NameOf(const FindingInput& input, ElementId id) {
  const std::string& name = input.meta.NameOf(id);
  return name.empty() ? "a lock" : name;
}

/// The order that came last is the one that contradicts.
const LockStep& LastToCome(const LockCycle& cycle) {
  return *std::max_element(cycle.steps.begin(), cycle.steps.end(), [](const LockStep& a, const LockStep& b) {
    return a.acquisition->threads.at(a.thread) < b.acquisition->threads.at(b.thread);
  });
}

/// Whether all threads of the circle were there at one moment.
bool WereThereTogether(const FindingInput& input, const LockCycle& cycle) {
  int64_t start_ns = 0;
  int64_t end_ns = INT64_MAX;
  for (const LockStep& step : cycle.steps) {
    for (const ThreadLife& life : input.waits.lives) {
      if (life.thread != step.thread) continue;
      start_ns = std::max(start_ns, life.start_ns);
      end_ns = std::min(end_ns, life.end_ns);
    }
  }
  return start_ns < end_ns;
}

void Add(const FindingInput& input, const LockStep& step, Finding& finding) {
  const LockAtPlace& wanted = step.acquisition->wanted;
  const CodePlace wanted_at = input.names.PlaceOf(wanted.site);
  const CodePlace held_at = input.names.PlaceOf(step.held.site);
  const std::string wanted_name = NameOf(input, wanted.lock);
  const std::string held_name = NameOf(input, step.held.lock);
  FindingThread thread = input.Thread(step.thread, 0);
  const size_t others = step.acquisition->threads.size() - 1;
  finding.evidence.push_back(
      fmt::format("thread {}{} has {} from {} and asks for {} at {}", ThreadText(thread),
                  others == 0 ? "" : fmt::format(", as {} other{},", others, others == 1 ? "" : "s"), held_name,
                  PlaceText(held_at), wanted_name, PlaceText(wanted_at)));
  finding.places.push_back({held_at, fmt::format("{} is acquired", held_name)});
  finding.places.push_back({wanted_at, fmt::format("{} is asked for with {}", wanted_name, held_name)});
  finding.threads.push_back(std::move(thread));
}

}  // namespace

void FindOrder(const FindingInput& input, std::vector<Finding>& findings) {
  for (const LockCycle& cycle : input.Of<LockOrders>().Cycles(input.waits.sums)) {
    Finding finding{.kind = FindingClass::kLockOrderCycle, .advice = std::string(kAdvice)};
    const LockAtPlace& last = LastToCome(cycle).acquisition->wanted;
    finding.site = input.names.PlaceOf(last.site);
    finding.object = last.lock;
    finding.object_name = NameOf(input, last.lock);
    for (const LockStep& step : cycle.steps) Add(input, step, finding);
    finding.thread_count = static_cast<int64_t>(finding.threads.size());
    finding.figures["locks"] = static_cast<double>(cycle.steps.size());
    finding.figures["entangled_locks"] = static_cast<double>(cycle.entangled);
    if (cycle.entangled > static_cast<int64_t>(cycle.steps.size()))
      finding.evidence.push_back(fmt::format("{} locks are entangled with each other in this way", cycle.entangled));
    if (!WereThereTogether(input, cycle)) {
      finding.confidence = Confidence::kLow;
      finding.evidence.emplace_back("these threads were not there at the same time: what ran could not hang");
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
