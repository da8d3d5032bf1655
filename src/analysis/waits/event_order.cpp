#include "analysis/waits/event_order.h"

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <utility>

#include "base/saturating.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::Event;
using wire::EventKind;

/// Sort key: time of an event, and its row over all parts.
struct Key {
  uint64_t time = 0;  ///< ascends as t_ns does
  size_t row = 0;
};

struct DigitsOfTime {
  uint64_t operator()(const Key& key, unsigned shift) const { return key.time >> shift; }
};
struct IsEarlier {
  bool operator()(const Key& a, const Key& b) const { return a.time < b.time; }
};

}  // namespace

void EventOrder::Push(const Event& event) {
  if (parts_.empty() || parts_.back().rows.size() == kPartRows) parts_.emplace_back().rows.reserve(kPartRows);
  Part& part = parts_.back();
  part.rows.push_back(event);
  part.newest_ns = std::max(part.newest_ns, event.t_ns);
}

void EventOrder::Add(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    newest_ns_ = std::max(newest_ns_, block.t_ns[i]);
    const bool is_hand_over = block.kind[i] == static_cast<int64_t>(EventKind::kHandOver);
    if (!is_hand_over && !wire::IsWait(block.kind[i])) continue;
    has_hand_overs_ = has_hand_overs_ || is_hand_over;
    Push({.t_ns = block.t_ns[i],
          .thread = static_cast<ElementId>(block.thread[i]),
          .kind = static_cast<EventKind>(block.kind[i]),
          .object = static_cast<ElementId>(block.object[i]),
          .site = static_cast<ElementId>(block.site[i]),
          .a = block.a[i],
          .b = block.b[i]});
  }
}

void EventOrder::Release(int64_t before_ns, const Visitor& visit) {
  const auto is_settled = [before_ns](const Event& event) { return before_ns == INT64_MAX || event.t_ns < before_ns; };
  const auto event_of = [this](const Key& key) -> const Event& {
    return parts_[key.row / kPartRows].rows[key.row % kPartRows];
  };
  std::vector<Key> keys;
  size_t row = 0;
  for (const Part& part : parts_) {
    for (const Event& event : part.rows) {
      if (is_settled(event)) keys.push_back({static_cast<uint64_t>(event.t_ns) ^ (uint64_t{1} << 63), row});
      ++row;
    }
  }
  if (keys.empty()) return;
  boost::sort::spreadsort::integer_sort(keys.begin(), keys.end(), DigitsOfTime(), IsEarlier());
  for (auto at = keys.begin(); at != keys.end();) {
    const auto end = std::find_if(at, keys.end(), [at](const Key& key) { return key.time != at->time; });
    if (end - at > 1)
      std::sort(at, end, [&](const Key& a, const Key& b) {
        return std::pair(event_of(b).kind, a.row) < std::pair(event_of(a).kind, b.row);
      });
    for (; at != end; ++at) visit(event_of(*at));
  }
  for (const Part& part : std::exchange(parts_, {})) {
    for (const Event& event : part.rows) {
      if (!is_settled(event)) Push(event);
    }
  }
}

void EventOrder::ReleaseMany(const Visitor& visit) {
  if (size() < many_) return;
  Release(SettledByFarNs(), visit);
  many_ = std::max(kMany, size() * 2);
}

void EventOrder::DropMany() {
  const int64_t settled_ns = SettledByFarNs();
  size_t settled = 0;
  while (size() >= kMany + settled * kPartRows && parts_[settled].newest_ns < settled_ns) ++settled;
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<ptrdiff_t>(settled));
}

int64_t EventOrder::SettledByFarNs() const {
  return size() < kMaxKept ? SaturatingSub(newest_ns_, kSettleByFarNs) : INT64_MAX;
}

}  // namespace attune::analysis
