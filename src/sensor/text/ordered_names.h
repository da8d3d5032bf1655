#pragma once
/// Finds names that mostly come in the same order again.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace attune::sensor {

/// Looks a name up where it is expected: behind the one that was found before. Does not allocate.
class OrderedNames {
 public:
  void Add(std::string name) { names_.push_back(std::move(name)); }
  size_t size() const { return names_.size(); }
  const std::vector<std::string>& all() const { return names_; }
  /// The next name is expected to be the first.
  void Restart() { expected_ = 0; }
  /// Its index; size() where it is none of them.
  size_t Find(std::string_view name) {
    const auto from = names_.begin() + static_cast<std::ptrdiff_t>(expected_);
    auto found = std::find(from, names_.end(), name);
    if (found == names_.end()) {
      found = std::find(names_.begin(), from, name);
      if (found == from) return names_.size();
    }
    const auto index = static_cast<size_t>(found - names_.begin());
    expected_ = index + 1 == names_.size() ? 0 : index + 1;
    return index;
  }

 private:
  std::vector<std::string> names_;
  size_t expected_ = 0;
};

}  // namespace attune::sensor
