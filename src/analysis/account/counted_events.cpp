#include "analysis/account/counted_events.h"

#include <algorithm>
#include <cctype>

#include "model/rows.h"

namespace attune::analysis {

std::string EventKey(std::string_view event) {
  std::string name(event);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::optional<double> MissesOf(const EventSums& sums) {
  return CountOf(sums, {"llc-load-misses", "cache-misses", "longest_lat_cache.miss", "ll_cache_miss_rd"});
}

std::optional<double> CountOf(const EventSums& sums, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const std::string_view modifier : {"", ":u"}) {
      const auto found = sums.find(std::string(name).append(modifier));
      if (found != sums.end()) return found->second;
    }
  }
  return std::nullopt;
}

std::vector<model::Table> CountedEvents::Tables() const { return {model::ThreadCount::kTable}; }

void CountedEvents::AddRows(const model::Batch& batch) {
  for (const model::ThreadCount& row : model::RowsFrom<model::ThreadCount>(batch)) {
    if (sums_.size() >= kMaxThreads && !sums_.contains(row.element)) continue;
    sums_[row.element][EventKey(row.event)] += static_cast<double>(row.count);
  }
}

}  // namespace attune::analysis
