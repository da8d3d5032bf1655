#pragma once
/// Median and percentiles of repeated measurements.

#include <vector>

namespace attune::machine {

struct Spread {
  double median_ns = 0;
  double low_ns = 0;   ///< 5th percentile
  double high_ns = 0;  ///< 95th percentile
};

/// @param values at least one
Spread SpreadOf(std::vector<double> values);

}  // namespace attune::machine
