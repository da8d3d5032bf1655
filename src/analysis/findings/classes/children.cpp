/// Child processes that are started one after the other: child-wait (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/findings/child_lives.h"
#include "analysis/findings/cpu_loss.h"
#include "analysis/places/own_place.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr FindingClass kChildWait{"child-wait", "Child processes are started one after the other"};
constexpr std::string_view kAdvice =
    "Start as many of them as there are CPUs before waiting for the first, if none needs the result of another "
    "(xargs -P, make -j, subprocess.Popen, a pool of processes).";

constexpr int64_t kFewChildren = 3;
constexpr int64_t kLongLifeNs = 5'000'000;  ///< life of a child on average: shorter ones mostly start and end
constexpr double kLeastOfLife = 0.2;        ///< part of the parent's life in which it waits for them
constexpr double kMostlyWaiting = 0.5;      ///< part of the children's lives in which the parent waits
constexpr double kBusyChild = 0.5;          ///< part of the children's lives in which they run, or want a CPU

bool IsChild(SyncKind kind) { return kind == SyncKind::kChild; }

/// Waiting of a process for those that it started: for their ends, and for what they write.
struct Waiting {
  int64_t ns = 0;
  std::map<ElementId, int64_t> threads;
};

std::map<ElementId, Waiting> ForOutput(const FindingInput& input, const Children& children) {
  std::map<ElementId, Waiting> by_process;
  for (const auto& [pair, sleep] : input.Of<WokenSleeps>().Sums()) {
    const model::Element* sleeper = input.meta.FindElement(pair.first);
    const model::Element* waker = input.meta.FindElement(pair.second);
    if (sleeper == nullptr || waker == nullptr || !children.IsBelow(waker->parent, sleeper->parent)) continue;
    Waiting& waiting = by_process[sleeper->parent];
    AddTo(waiting.ns, sleep.ns);
    AddTo(waiting.threads[pair.first], sleep.ns);
  }
  return by_process;
}

/// A finding about a process none of whose calls that wait for children's ends was seen; the place is where its own
/// code computes: it starts them there.
Finding AboutOutput(const FindingInput& input, const Waiting& output) {
  Finding finding{.kind = kChildWait};
  std::map<ElementId, int64_t> places;
  if (input.cpu_samples != nullptr) {
    for (const auto& [key, ns] : input.cpu_samples->weights) {
      if (!output.threads.contains(key.first)) continue;
      const ElementId own = OwnPlaceOf(input.cpu_samples->PathOf(key.second), input.names);
      if (own != 0 && !IsSystemModule(input.names.PlaceOf(own).module)) AddTo(places[own], ns);
    }
  }
  if (!places.empty()) finding.site = input.names.PlaceOf(MostOf(places));
  std::vector<FindingThread> threads;
  for (const auto& [thread, ns] : output.threads) threads.push_back(input.Thread(thread, ns));
  FindingInput::SetThreads(std::move(threads), finding);
  return finding;
}

}  // namespace

void FindChildren(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.Cpus() == 1) return;
  const Activity activity = ActivityOf(input);
  const Children children(input, activity);
  const std::map<ElementId, ObjectGroup> ends = MergeByProcess(input, input.Of<CallSums>().calls(), IsChild);
  const std::map<ElementId, Waiting> outputs = ForOutput(input, children);
  for (const ElementId process : children.Parents()) {
    const auto end = ends.find(process);
    const auto output = outputs.find(process);
    int64_t wait_ns = 0;
    if (end != ends.end()) AddTo(wait_ns, end->second.sums.total.wait_ns);
    if (output != outputs.end()) AddTo(wait_ns, output->second.ns);
    if (!input.IsEnough(wait_ns) || PartOf(wait_ns, LifeOf(input, process)) < kLeastOfLife) continue;
    const ChildLives lives = children.Of(process);
    if (lives.count < kFewChildren || lives.lives_ns / lives.count < kLongLifeNs || !lives.IsOneAtATime()) continue;
    if (PartOf(wait_ns, lives.covered_ns) < kMostlyWaiting) continue;
    if (lives.active_ns < kBusyChild * static_cast<double>(lives.covered_ns)) continue;
    Finding finding =
        end != ends.end() ? AboutBusiest(input, kChildWait, end->second) : AboutOutput(input, output->second);
    finding.lost_ns = wait_ns;
    finding.share = PartOf(wait_ns, input.waits.thread_ns);
    finding.advice = kAdvice;
    finding.confidence = Confidence::kMedium;  // whether one needs the result of another is not known
    finding.figures["children"] = static_cast<double>(lives.count);
    finding.evidence.push_back(
        fmt::format("{} children ran one at a time, {} each on average, and used {:.0f} % of a CPU meanwhile",
                    lives.count, FormatDuration(lives.lives_ns / lives.count),
                    100 * lives.active_ns / std::max(1.0, static_cast<double>(lives.covered_ns))));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
