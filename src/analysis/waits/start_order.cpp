#include "analysis/waits/start_order.h"

#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis {

void StartOrder::AddEvents(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    const bool is_start = block.b[i] == static_cast<int64_t>(wire::SyncKind::kCreate);
    const bool is_future = block.b[i] == static_cast<int64_t>(wire::SyncKind::kFuture);
    if (block.kind[i] != static_cast<int64_t>(wire::EventKind::kWait) || (!is_start && !is_future)) continue;
    const auto id = static_cast<model::ElementId>(block.thread[i]);
    if (!threads_.contains(id) && threads_.size() >= kMax) continue;
    Waits& waits = threads_[id];
    if (is_start) {
      ++waits.started;
      continue;
    }
    ++(waits.started == 1 ? waits.after_one : waits.started == 0 ? waits.after_none : waits.after_several);
    waits.started = 0;
  }
}

StartOrder::Waits StartOrder::WaitsOf(model::ElementId thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? Waits{} : found->second;
}

}  // namespace attune::analysis
