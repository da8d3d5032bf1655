#include "analysis/waits/event_order.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/saturating.h"
#include "wire/event.h"

namespace attune::analysis {

void EventOrder::Add(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    const int64_t kind = block.kind[i];
    newest_ns_ = std::max(newest_ns_, block.t_ns[i]);
    if (!wire::IsWait(kind) && kind != static_cast<int64_t>(wire::EventKind::kHandOver)) continue;
    rows_.push_back({block.t_ns[i], block.thread[i], kind, block.object[i], block.site[i], block.a[i], block.b[i]});
  }
}

void EventOrder::Release(int64_t before_ns, const Visitor& visit) {
  const auto settled = before_ns == INT64_MAX
                           ? rows_.end()
                           : std::stable_partition(rows_.begin(), rows_.end(),
                                                   [before_ns](const Row& row) { return row[0] < before_ns; });
  std::stable_sort(rows_.begin(), settled,
                   [](const Row& a, const Row& b) { return std::pair(a[0], -a[2]) < std::pair(b[0], -b[2]); });
  for (auto row = rows_.begin(); row != settled; ++row) {
    const auto one = [&row](size_t column) { return std::span<const int64_t>(&(*row)[column], 1); };
    visit({one(0), one(1), one(2), one(3), one(4), one(5), one(6)}, 0);
  }
  rows_.erase(rows_.begin(), settled);
}

void EventOrder::ReleaseMany(const Visitor& visit) {
  if (rows_.size() < many_) return;
  Release(rows_.size() < kMaxKept ? SaturatingSub(newest_ns_, kSettleByFarNs) : INT64_MAX, visit);
  many_ = std::max(size_t{1} << 16, rows_.size() * 2);
}

}  // namespace attune::analysis
