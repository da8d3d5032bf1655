#include "analysis/waits/lock_holds.h"

#include <algorithm>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using wire::EventKind;
using wire::SyncKind;

/// From one moment to a later one.
int64_t Between(int64_t t0_ns, int64_t t1_ns) {
  int64_t length_ns = 0;
  return __builtin_sub_overflow(t1_ns, t0_ns, &length_ns) ? INT64_MAX : length_ns;
}

}  // namespace

int64_t LockHold::LengthNs() const { return Between(t0_ns, t1_ns); }

std::optional<LockHold> HoldPairing::Add(const model::EventBlock& block, size_t row) {
  const int64_t kind = block.b[row];
  if (kind <= 0 || kind > static_cast<int64_t>(wire::kLastSyncKind) || !IsLock(static_cast<SyncKind>(kind)))
    return std::nullopt;
  const std::pair key(block.thread[row], block.object[row]);
  if (block.kind[row] == static_cast<int64_t>(EventKind::kAcquire)) {
    Reopen({.t0_ns = block.t_ns[row],
            .thread = block.thread[row],
            .object = block.object[row],
            .site = block.site[row],
            .kind = kind});
    return std::nullopt;
  }
  if (block.kind[row] != static_cast<int64_t>(EventKind::kRelease)) return std::nullopt;
  const auto found = open_.find(key);
  if (found == open_.end()) return std::nullopt;
  LockHold hold = found->second.back();
  found->second.pop_back();
  if (found->second.empty()) open_.erase(found);
  hold.t1_ns = std::max(hold.t0_ns, block.t_ns[row]);
  hold.held_ns = hold.LengthNs();
  return hold;
}

void HoldPairing::Reopen(const LockHold& hold) {
  std::vector<LockHold>& nested = open_[{hold.thread, hold.object}];
  if (nested.size() == kMaxNested) nested.erase(nested.begin());
  nested.push_back(hold);
}

std::vector<LockHold> HoldPairing::Open() const {
  std::vector<LockHold> all;
  for (const auto& [key, nested] : open_) all.insert(all.end(), nested.begin(), nested.end());
  return all;
}

void LongestHolds::Add(const LockHold& hold) {
  if (hold.LengthNs() <= least_ns_) return;
  holds_.push_back(hold);
  while (holds_.size() > kMost) {
    least_ns_ *= 2;
    std::erase_if(holds_, [this](const LockHold& one) { return one.LengthNs() <= least_ns_; });
  }
}

void HoldRows::Add(const LockHold& hold) {
  if (is_full_) return;
  const auto [found, is_new] = last_.try_emplace({hold.thread, hold.object}, rows_.size());
  if (!is_new) {
    LockHold& last = rows_[found->second];
    const bool are_short = last.held_ns / last.holds < width_ns_ && hold.held_ns < width_ns_;
    if (are_short && !hold.is_open && hold.t0_ns >= last.t0_ns &&
        (hold.t0_ns <= last.t1_ns || Between(last.t1_ns, hold.t0_ns) < width_ns_)) {
      last.t1_ns = std::max(last.t1_ns, hold.t1_ns);
      ++last.holds;
      AddTo(last.held_ns, hold.held_ns);
      if (last.site != hold.site) last.site = 0;
      return;
    }
    found->second = rows_.size();
  }
  is_full_ = rows_.size() == most_;
  if (is_full_) {
    rows_.clear();
    return;
  }
  rows_.push_back(hold);
}

}  // namespace attune::analysis
