#include "analysis/findings/child_lives.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace attune::analysis {

using model::ElementId;

bool ChildLives::IsOneAtATime() const {
  constexpr double kMost = 1.1;  // on average while there is one
  return PartOf(lives_ns, covered_ns) <= kMost;
}

/// A compiler's driver leaves the work to others, a shell to all of them.
Children::Children(const FindingInput& input, const Activity& activity) {
  std::vector<const model::Process*> latest_first;
  for (const model::Process& process : input.meta.processes) {
    latest_first.push_back(&process);
    by_parent_[process.parent].push_back(&process);
    // A parent has the smaller id, but a damaged file may say anything.
    if (process.parent < process.id) parents_[process.id] = process.parent;
  }
  std::ranges::sort(latest_first, std::ranges::greater{}, &model::Process::id);
  for (const model::Process* process : latest_first) {
    const bool has_usage = process->user_ns != model::kAbsent && process->system_ns != model::kAbsent;
    const double used_ns =
        has_usage ? static_cast<double>(process->user_ns) + static_cast<double>(process->system_ns) : 0;
    const double sum_ns = demands_[process->id] += std::max(used_ns, activity.DemandOf(process->id));
    if (parents_.contains(process->id)) demands_[process->parent] += sum_ns;
  }
}

ChildLives Children::Of(ElementId parent) const {
  ChildLives children;
  const auto found = by_parent_.find(parent);
  if (found == by_parent_.end()) return children;
  std::vector<std::pair<int64_t, int64_t>> lives;
  for (const model::Process* process : found->second) {
    if (process->start_ns == model::kAbsent || process->end_ns == model::kAbsent) continue;
    lives.emplace_back(SaneTime(process->start_ns), SaneTime(process->end_ns));
    children.active_ns += demands_.at(process->id);
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

bool Children::IsBelow(ElementId process, ElementId parent) const {
  for (auto above = parents_.find(process); above != parents_.end(); above = parents_.find(above->second)) {
    if (above->second == parent) return true;
  }
  return false;
}

std::vector<ElementId> Children::Parents() const {
  std::vector<ElementId> parents;
  for (const auto& [parent, children] : by_parent_) parents.push_back(parent);
  return parents;
}

}  // namespace attune::analysis
