/// Child processes that are started one after the other: child-wait (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "analysis/findings/process_sums.h"
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
constexpr double kOneAtATime = 1.1;         ///< children at a time, on average while there is one
constexpr double kLeastOfLife = 0.2;        ///< part of the parent's life in which it waits for them
constexpr double kMostlyWaiting = 0.5;      ///< part of the children's lives in which the parent waits
constexpr double kBusyChild = 0.5;          ///< part of the children's lives in which they run, or want a CPU

bool IsChild(SyncKind kind) { return kind == SyncKind::kChild; }

struct Children {
  int64_t count = 0;
  int64_t lives_ns = 0;
  int64_t covered_ns = 0;  ///< in which there was at least one
  double active_ns = 0;
};

/// CPU time that each process used or wanted, with the processes that it started: a compiler's driver leaves the work
/// to others, a shell to all of them.
std::map<ElementId, double> DemandsOf(const FindingInput& input, const Activity& activity) {
  std::vector<const model::Process*> latest_first;
  for (const model::Process& process : input.meta.processes) latest_first.push_back(&process);
  std::ranges::sort(latest_first, std::ranges::greater{}, &model::Process::id);
  std::map<ElementId, double> demands;
  for (const model::Process* process : latest_first) {
    const bool has_usage = process->user_ns != model::kAbsent && process->system_ns != model::kAbsent;
    const double used_ns =
        has_usage ? static_cast<double>(process->user_ns) + static_cast<double>(process->system_ns) : 0;
    const double sum_ns = demands[process->id] += std::max(used_ns, activity.DemandOf(process->id));
    // A parent has the smaller id, but a damaged file may say anything.
    if (process->parent < process->id) demands[process->parent] += sum_ns;
  }
  return demands;
}

Children ChildrenOf(const FindingInput& input, ElementId parent, const std::map<ElementId, double>& demands) {
  std::vector<std::pair<int64_t, int64_t>> lives;
  Children children;
  for (const model::Process& process : input.meta.processes) {
    if (process.parent != parent || process.start_ns == model::kAbsent || process.end_ns == model::kAbsent) continue;
    lives.emplace_back(SaneTime(process.start_ns), SaneTime(process.end_ns));
    children.active_ns += demands.at(process.id);
  }
  std::ranges::sort(lives);
  int64_t until_ns = 0;
  for (const auto& [start_ns, end_ns] : lives) {
    if (end_ns <= start_ns) continue;
    ++children.count;
    AddTo(children.lives_ns, end_ns - start_ns);
    if (end_ns > until_ns) AddTo(children.covered_ns, end_ns - std::max(start_ns, until_ns));
    until_ns = std::max(until_ns, end_ns);
  }
  return children;
}

}  // namespace

void FindChildren(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.Cpus() == 1) return;
  const Activity activity = ActivityOf(input);
  const std::map<ElementId, double> demands = DemandsOf(input, activity);
  for (const auto& [process, waits] : MergeByProcess(input, input.Of<CallSums>().calls(), IsChild)) {
    const int64_t wait_ns = waits.sums.total.wait_ns;
    if (!input.IsEnough(wait_ns) || PartOf(wait_ns, LifeOf(input, process)) < kLeastOfLife) continue;
    const Children children = ChildrenOf(input, process, demands);
    if (children.count < kFewChildren || children.lives_ns / children.count < kLongLifeNs) continue;
    if (PartOf(children.lives_ns, children.covered_ns) > kOneAtATime) continue;
    if (PartOf(wait_ns, children.covered_ns) < kMostlyWaiting) continue;
    if (children.active_ns < kBusyChild * static_cast<double>(children.covered_ns)) continue;
    Finding finding = AboutBusiest(input, kChildWait, waits);
    finding.advice = kAdvice;
    finding.confidence = Confidence::kMedium;  // whether one needs the result of another is not known
    finding.figures["children"] = static_cast<double>(children.count);
    finding.evidence.push_back(
        fmt::format("{} children ran one at a time, {} each on average, and used {:.0f} % of a CPU meanwhile",
                    children.count, FormatDuration(children.lives_ns / children.count),
                    100 * children.active_ns / std::max(1.0, static_cast<double>(children.covered_ns))));
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
