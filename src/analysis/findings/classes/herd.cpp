/// Many threads that are woken for what one of them gets: thundering-herd (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/process_sums.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr FindingClass kHerd{.name = "thundering-herd",
                             .about = "Many threads are woken for what one of them gets",
                             .explains_turns = true,
                             .explains_queues = true};
constexpr std::string_view kAdvice =
    "Wake one thread for one piece of work (pthread_cond_signal, notify_one), and all of them only where all have "
    "something to do.";

constexpr int64_t kManyFutile = 1000;
constexpr double kWokenTogether = 1.2;  ///< threads a wake-up call; of calls that come fast many find nobody
constexpr double kMostlyFutile = 0.5;
constexpr double kLeastOfLife = 0.02;  ///< part of the process's life, in CPU time, of which most threads have little
/// Two switches of a thread, and taking its lock again: what a wake-up costs at least.
constexpr int64_t kWakeUpNs = 5'000;

/// The place that wakes most often. @param calls of all places
ElementId WakingPlace(const ObjectSums& object, int64_t& calls) {
  ElementId best = 0;
  int64_t most = 0;
  for (const auto& [place, threads] : object.places) {
    if (place.second != SyncKind::kWake) continue;
    int64_t count = 0;
    for (const auto& [thread, counts] : threads) AddTo(count, std::max<int64_t>(0, counts.count));
    AddTo(calls, count);
    if (count <= most) continue;
    most = count;
    best = place.first;
  }
  return best;
}

}  // namespace

void FindHerd(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [id, object] : input.waits.sums.objects) {
    if (object.kind != SyncKind::kCondition && object.kind != SyncKind::kFutex) continue;
    const int64_t futile = std::min(input.Of<FutileWakes>().FutileAt(id), object.total.count);
    int64_t calls = 0;
    const ElementId waker = WakingPlace(object, calls);
    if (futile < kManyFutile || calls <= 0) continue;
    const double woken = static_cast<double>(object.total.count);
    if (woken < kWokenTogether * static_cast<double>(calls) || static_cast<double>(futile) < kMostlyFutile * woken)
      continue;
    Finding finding = input.About(kHerd, {.objects = {id}, .sums = object});
    finding.lost_ns = futile * kWakeUpNs;
    const model::Element* element = input.meta.FindElement(id);
    const int64_t life_ns = element == nullptr ? 0 : LifeOf(input, element->parent);
    if (finding.lost_ns < kLeastLostNs || PartOf(finding.lost_ns, life_ns) < kLeastOfLife) continue;
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.site = input.names.PlaceOf(waker);
    finding.advice = kAdvice;
    finding.confidence = Confidence::kHigh;
    finding.figures["wake_calls"] = static_cast<double>(calls);
    finding.figures["woken"] = woken;
    finding.figures["futile"] = static_cast<double>(futile);
    finding.evidence.push_back(
        fmt::format("{} wake-up calls woke {:.1f} threads each on average, and {:.0f} % of the woken ones found "
                    "nothing to do and waited again",
                    calls, woken / static_cast<double>(calls), 100 * static_cast<double>(futile) / woken));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
