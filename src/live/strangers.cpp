#include "live/strangers.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace attune::live {

uint64_t Strangers::Enter(std::string peer, std::function<void()> close) {
  while (present_.size() >= places_ && EvictOne()) {
  }
  present_.emplace(++last_id_, Stranger{std::move(peer), std::move(close)});
  return last_id_;
}

bool Strangers::EvictOne() {
  std::map<std::string_view, size_t> counts;
  size_t most = 0;
  for (const auto& [id, stranger] : present_) most = std::max(most, ++counts[stranger.peer]);
  const auto oldest =
      std::ranges::find_if(present_, [&](const auto& entry) { return counts[entry.second.peer] == most; });
  if (oldest == present_.end()) return false;
  const auto node = present_.extract(oldest);
  node.mapped().close();
  return true;
}

}  // namespace attune::live
