#pragma once
/// What there is by age: few at a time, mostly the newest are asked for.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace attune::flow::detail {

template <typename T>
class AgeTable {
 public:
  /// nullptr: there is none.
  T* Find(int64_t age) const {
    const size_t at = Place(age);
    return at < entries_.size() && entries_[at].first == age ? entries_[at].second : nullptr;
  }
  void Insert(int64_t age, T* value) {
    entries_.insert(entries_.begin() + static_cast<int64_t>(Place(age)), {age, value});
  }
  void Erase(int64_t age) {
    const size_t at = Place(age);
    if (at < entries_.size() && entries_[at].first == age) entries_.erase(entries_.begin() + static_cast<int64_t>(at));
  }
  bool empty() const { return entries_.empty(); }
  const std::vector<std::pair<int64_t, T*>>& entries() const { return entries_; }

 private:
  size_t Place(int64_t age) const {
    size_t at = entries_.size();
    while (at > 0 && entries_[at - 1].first >= age) --at;
    return at;
  }
  std::vector<std::pair<int64_t, T*>> entries_;  // ascending
};

/// A set of ages in intervals; ages are done about in their order, so there are few.
class AgeSet {
 public:
  bool Contains(int64_t age) const {
    const auto after = std::upper_bound(intervals_.begin(), intervals_.end(), age,
                                        [](int64_t a, const auto& each) { return a < each.first; });
    return after != intervals_.begin() && age < std::prev(after)->second;
  }
  void Add(int64_t age) {
    auto at = std::lower_bound(intervals_.begin(), intervals_.end(), age,
                               [](const auto& each, int64_t a) { return each.second < a; });
    if (at == intervals_.end() || at->first > age + 1) {
      intervals_.insert(at, {age, age + 1});
      return;
    }
    at->first = std::min(at->first, age);
    at->second = std::max(at->second, age + 1);
    const auto next = std::next(at);
    if (next != intervals_.end() && next->first <= at->second) {
      at->second = next->second;
      intervals_.erase(next);
    }
  }
  /// Every age below is in the set, as none of them can come any more.
  void AddAllBelow(int64_t age) {
    auto keep =
        std::find_if(intervals_.begin(), intervals_.end(), [age](const auto& each) { return each.second > age; });
    const int64_t end = keep != intervals_.end() && keep->first <= age ? keep++->second : age;
    intervals_.erase(intervals_.begin(), keep);
    intervals_.insert(intervals_.begin(), {INT64_MIN, end});
  }
  size_t intervals() const { return intervals_.size(); }

 private:
  std::vector<std::pair<int64_t, int64_t>> intervals_;  // [first, second), ascending, apart
};

}  // namespace attune::flow::detail
