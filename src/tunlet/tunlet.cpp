#include "tunlet/tunlet.h"

#include <algorithm>
#include <charconv>

namespace attune::tunlet {

const model::Finding* Observation::Of(const std::vector<std::string_view>& classes) const {
  for (const model::Finding& finding : findings) {
    if (std::ranges::find(classes, finding.finding_class) != classes.end()) return &finding;
  }
  return nullptr;
}

double Observation::GainOf(const model::Finding& finding) const {
  const auto wall = static_cast<double>(std::max<int64_t>(wall_ns, 1));
  const auto gain = static_cast<double>(std::max<int64_t>(finding.gain_ns, 0));
  constexpr double kMostOfTheTime = 0.95;
  return 1 / (1 - std::min(gain / wall, kMostOfTheTime)) - 1;
}

int64_t NumberOf(std::string_view value, int64_t otherwise) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : otherwise;
}

}  // namespace attune::tunlet
