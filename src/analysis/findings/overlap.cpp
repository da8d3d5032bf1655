#include "analysis/findings/overlap.h"

#include <algorithm>
#include <set>

namespace attune::analysis {
namespace {

std::set<int64_t> ProcessesOf(const Finding& finding) {
  std::set<int64_t> pids;
  for (const FindingThread& thread : finding.threads) pids.insert(thread.pid);
  return pids;
}

bool Explains(const Finding& particular, const Finding& general) {
  const bool is_of_it = (general.kind.shows == Shows::kTurns && particular.kind.explains_turns) ||
                        (general.kind.shows == Shows::kQueues && particular.kind.explains_queues);
  if (!is_of_it) return false;
  const std::set<int64_t> pids = ProcessesOf(particular);
  return std::ranges::any_of(general.threads, [&](const FindingThread& thread) { return pids.contains(thread.pid); });
}

}  // namespace

void LeaveOutExplained(std::vector<Finding>& findings) {
  std::vector<Finding> kept;
  for (const Finding& finding : findings) {
    const bool is_explained =
        std::ranges::any_of(findings, [&](const Finding& other) { return Explains(other, finding); });
    if (!is_explained) kept.push_back(finding);
  }
  findings = std::move(kept);
}

}  // namespace attune::analysis
