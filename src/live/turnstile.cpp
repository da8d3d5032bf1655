#include "live/turnstile.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace attune::live {
namespace {

/// A peer that is forgotten is served like one that has just come.
constexpr size_t kMaxPeers = 1024;

}  // namespace

uint64_t Turnstile::Enter(Lane lane, std::string peer, std::function<void()> go) {
  waiting_.emplace(++last_id_, Waiting{lane, std::move(peer), std::move(go)});
  return last_id_;
}

uint64_t Turnstile::LastTurnOf(const std::string& peer) const {
  const auto found = last_turns_.find(peer);
  return found == last_turns_.end() ? 0 : found->second;
}

bool Turnstile::Next() {
  const bool wants_newest = last_turn_ % 2 == 0;
  const auto next = std::ranges::min_element(waiting_, {}, [&](const auto& entry) {
    const uint64_t rank = wants_newest ? UINT64_MAX - entry.first : entry.first;
    return std::tuple(entry.second.lane, LastTurnOf(entry.second.peer), rank);
  });
  if (next == waiting_.end()) return false;
  if (last_turns_.size() >= kMaxPeers) last_turns_.clear();
  last_turns_[next->second.peer] = ++last_turn_;
  const auto node = waiting_.extract(next);
  node.mapped().go();
  return true;
}

}  // namespace attune::live
