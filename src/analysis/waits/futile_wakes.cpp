#include "analysis/waits/futile_wakes.h"

#include "base/saturating.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis {

void FutileWakes::AddEvents(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    const bool is_woken = block.b[i] == static_cast<int64_t>(wire::SyncKind::kCondition) ||
                          block.b[i] == static_cast<int64_t>(wire::SyncKind::kFutex);
    if (block.kind[i] != static_cast<int64_t>(wire::EventKind::kWait) || !is_woken) continue;
    const auto object = static_cast<model::ElementId>(block.object[i]);
    const std::pair key(object, static_cast<model::ElementId>(block.thread[i]));
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    const auto last = ended_ns_.find(key);
    if (last == ended_ns_.end()) {
      if (ended_ns_.size() < kMax) ended_ns_[key] = end_ns;
      continue;
    }
    const int64_t begin_ns = end_ns - SaneTime(block.a[i]);
    if (begin_ns - last->second <= kLookNs) ++futile_[object];
    last->second = end_ns;
  }
}

int64_t FutileWakes::FutileAt(model::ElementId object) const {
  const auto found = futile_.find(object);
  return found == futile_.end() ? 0 : found->second;
}

}  // namespace attune::analysis
