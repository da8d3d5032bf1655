#include "analysis/findings/late_causes.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/units.h"

namespace attune::analysis {

using model::ElementId;

namespace {

/// A function in which a late rank computed.
struct BusyFunction {
  CodePlace place;  ///< the one in it where most of the time went
  int64_t place_ns = 0;
  int64_t busy_ns = 0;
};

/// With most time first.
std::vector<BusyFunction> BusyFunctions(const FindingInput& input, const MessageWaitSums& sums) {
  std::map<std::pair<std::string, std::string>, BusyFunction> by_function;
  for (const auto& [site, ns] : sums.busy_ns) {
    CodePlace place = input.names.PlaceOf(site);
    BusyFunction& function = by_function[{place.module, place.function.empty() ? place.name : place.function}];
    AddTo(function.busy_ns, ns);
    if (ns <= function.place_ns) continue;
    function.place_ns = ns;
    function.place = std::move(place);
  }
  std::vector<BusyFunction> functions;
  for (auto& [name, function] : by_function) functions.push_back(std::move(function));
  std::ranges::stable_sort(functions, std::greater{}, &BusyFunction::busy_ns);
  return functions;
}

}  // namespace

std::vector<WaitSite> WaitersOfMessages(const FindingInput& input, const std::map<ElementId, MessageWaiter>& waiters,
                                        wire::SyncKind kind) {
  std::vector<WaitSite> rows;
  for (const auto& [site, waiter] : waiters) {
    WaitSite& row = rows.emplace_back();
    static_cast<CodePlace&>(row) = input.names.PlaceOf(site);
    row.kind = kind;
    row.threads = static_cast<int64_t>(waiter.by_thread.size());
    row.count = row.waits = waiter.waits;
    row.wait_ns = waiter.wait_ns;
  }
  std::ranges::stable_sort(rows, std::greater{}, &WaitSite::wait_ns);
  return rows;
}

int64_t ExplainedByQueues(const FindingInput& input, const MessageWaitSums& sums) {
  int64_t longest_ns = 0, second_ns = 0, all_ns = 0;
  for (const auto& [thread, ns] : sums.by_thread) {
    second_ns = std::max(second_ns, std::min(ns, longest_ns));
    longest_ns = std::max(longest_ns, ns);
    AddTo(all_ns, ns);
  }
  double explained = 0;
  for (const auto& [thread, late] : sums.caused_by) {
    const auto times = input.times.by_thread.find(thread);
    if (times == input.times.by_thread.end()) continue;
    // As many others wait for it as wait as long as the one of them that waits longest.
    const auto own = sums.by_thread.find(thread);
    const int64_t own_ns = own != sums.by_thread.end() ? own->second : 0;
    const auto longest = static_cast<double>(own_ns == longest_ns ? second_ns : longest_ns);
    const double others = longest > 0 ? static_cast<double>(all_ns - own_ns) / longest : 1;
    explained += std::min(static_cast<double>(late.caused_ns), times->second.queue_ns * others);
  }
  return static_cast<int64_t>(std::clamp(explained, 0.0, 9e18));
}

void SayWhatWasDone(const FindingInput& input, const MessageWaitSums& sums, Finding& finding) {
  constexpr double kLeastPart = 0.05;
  int64_t busy_ns = 0;
  for (const auto& [site, ns] : sums.busy_ns) AddTo(busy_ns, ns);
  const std::vector<BusyFunction> most = BusyFunctions(input, sums);
  for (const BusyFunction& function : most) {
    if (PartOf(function.busy_ns, busy_ns) < kLeastPart) break;
    FindingPlace& place = finding.places.emplace_back();
    static_cast<CodePlace&>(place) = function.place;
    place.what = fmt::format("{} of CPU time while others waited", FormatDuration(function.busy_ns));
  }
  finding.figures["busy_seconds"] = static_cast<double>(busy_ns) * 1e-9;
  if (!finding.places.empty())
    finding.evidence.push_back(fmt::format("meanwhile it computed for {}, {:.0f} % of that at {}",
                                           FormatDuration(busy_ns), 100 * PartOf(most.front().busy_ns, busy_ns),
                                           PlaceText(finding.places.front())));
}

}  // namespace attune::analysis
