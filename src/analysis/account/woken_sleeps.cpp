#include "analysis/account/woken_sleeps.h"

#include "base/saturating.h"
#include "model/rows.h"

namespace attune::analysis {
namespace {

bool IsOfPeers(model::TimeState state) {
  using model::TimeState;
  return state == TimeState::kPipe || state == TimeState::kSocket || state == TimeState::kEvent ||
         state == TimeState::kPoll;
}

}  // namespace

void WokenSleeps::AddRows(const model::Batch& batch) {
  for (const model::StateTime& row : model::RowsFrom<model::StateTime>(batch)) {
    if (row.state == model::TimeState::kPoll && (polled_ns_.size() < kMaxPairs || polled_ns_.contains(row.element)))
      AddTo(polled_ns_[row.element], row.ns);
    if (row.waker == 0 || row.waker == row.element || !IsOfPeers(row.state)) continue;
    const Pair pair(row.element, row.waker);
    if (sums_.size() >= kMaxPairs && !sums_.contains(pair)) continue;
    WokenSleep& sum = sums_[pair];
    AddTo(sum.ns, row.ns);
    AddTo(sum.count, row.count);
    if (row.state == model::TimeState::kPoll) AddTo(sum.poll_ns, row.ns);
  }
}

int64_t WokenSleeps::PolledNs(model::ElementId thread) const {
  const auto found = polled_ns_.find(thread);
  return found == polled_ns_.end() ? 0 : found->second;
}

}  // namespace attune::analysis
