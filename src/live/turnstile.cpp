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

Turnstile::Turns Turnstile::TurnsOf(const std::string& peer) const {
  const auto found = turns_.find(peer);
  return found == turns_.end() ? Turns() : found->second;
}

bool Turnstile::Next() {
  const auto next = std::ranges::min_element(waiting_, {}, [&](const auto& entry) {
    const Turns turns = TurnsOf(entry.second.peer);
    const uint64_t rank = turns.had_newest ? entry.first : UINT64_MAX - entry.first;
    return std::tuple(entry.second.lane, turns.last, rank);
  });
  if (next == waiting_.end()) return false;
  if (turns_.size() >= kMaxPeers) turns_.clear();
  Turns& turns = turns_[next->second.peer];
  turns = {++last_turn_, !turns.had_newest};
  const auto node = waiting_.extract(next);
  node.mapped().go();
  return true;
}

}  // namespace attune::live
