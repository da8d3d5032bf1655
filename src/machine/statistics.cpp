#include "machine/statistics.h"

#include <algorithm>
#include <cmath>

namespace attune::machine {

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.5), at(0.05), at(0.95)};
}

}  // namespace attune::machine
