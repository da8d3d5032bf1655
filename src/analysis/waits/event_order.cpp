#include "analysis/waits/event_order.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "base/saturating.h"
#include "wire/event.h"

namespace attune::analysis {

void EventOrder::Add(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    const int64_t kind = block.kind[i];
    newest_ns_ = std::max(newest_ns_, block.t_ns[i]);
    if (!wire::IsWait(kind) && kind != static_cast<int64_t>(wire::EventKind::kHandOver)) continue;
    has_hand_overs_ = has_hand_overs_ || kind == static_cast<int64_t>(wire::EventKind::kHandOver);
    rows_.push_back({block.t_ns[i], block.thread[i], kind, block.object[i], block.site[i], block.a[i], block.b[i]});
  }
}

void EventOrder::Release(int64_t before_ns, const Visitor& visit) {
  struct Key {
    int64_t t_ns;
    int64_t kind;
    size_t row;
    /// The last one makes it a stable order.
    auto Order() const { return std::tuple(t_ns, -kind, row); }
  };
  const auto is_settled = [before_ns](const Row& row) { return before_ns == INT64_MAX || row[0] < before_ns; };
  std::vector<Key> keys;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (is_settled(rows_[i])) keys.push_back({rows_[i][0], rows_[i][2], i});
  }
  std::ranges::sort(keys, {}, &Key::Order);
  for (const Key& key : keys) {
    const Row& row = rows_[key.row];
    const auto one = [&row](size_t column) { return std::span<const int64_t>(&row[column], 1); };
    visit({one(0), one(1), one(2), one(3), one(4), one(5), one(6)}, 0);
  }
  std::erase_if(rows_, is_settled);
}

void EventOrder::ReleaseMany(const Visitor& visit) {
  if (rows_.size() < many_) return;
  Release(SettledByFarNs(), visit);
  many_ = std::max(size_t{1} << 16, rows_.size() * 2);
}

void EventOrder::DropMany() {
  if (rows_.size() < many_) return;
  std::erase_if(rows_, [settled_ns = SettledByFarNs()](const Row& row) { return row[0] < settled_ns; });
  many_ = std::max(size_t{1} << 16, rows_.size() * 2);
}

int64_t EventOrder::SettledByFarNs() const {
  return rows_.size() < kMaxKept ? SaturatingSub(newest_ns_, kSettleByFarNs) : INT64_MAX;
}

}  // namespace attune::analysis
