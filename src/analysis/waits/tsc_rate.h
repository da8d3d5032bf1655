#pragma once
/// How fast the time stamp counter goes, from the readings of the clocks in a recording.

#include <cstdint>

#include "model/schema.h"

namespace attune::analysis {

/// A time in ticks of a counter of this rate. kAbsent: either is not known
inline int64_t CyclesOf(int64_t ns, int64_t tsc_hz) {
  if (ns == model::kAbsent || tsc_hz == model::kAbsent) return model::kAbsent;
  const double cycles = static_cast<double>(ns) * 1e-9 * static_cast<double>(tsc_hz);
  return cycles < 9e18 ? static_cast<int64_t>(cycles) : INT64_MAX;
}

class TscRate {
 public:
  void Add(int64_t tsc, int64_t monotonic_ns) {
    if (first_tsc_ == model::kAbsent) {
      first_tsc_ = tsc;
      first_ns_ = monotonic_ns;
    }
    last_tsc_ = tsc;
    last_ns_ = monotonic_ns;
  }
  /// Adds rows of the table `clock`.
  void Add(const model::Batch& batch) {
    for (size_t row = 0; row < batch.rows; ++row) Add(batch.ints[0][row], batch.ints[1][row]);
  }

  /// Ticks a second; kAbsent: not known.
  int64_t Hz() const {
    if (first_tsc_ == model::kAbsent || last_ns_ <= first_ns_ || last_tsc_ <= first_tsc_) return model::kAbsent;
    const double hz = (static_cast<double>(last_tsc_) - static_cast<double>(first_tsc_)) /
                      (static_cast<double>(last_ns_) - static_cast<double>(first_ns_)) * 1e9;
    return hz < 1e12 ? static_cast<int64_t>(hz) : model::kAbsent;
  }

 private:
  int64_t first_tsc_ = model::kAbsent, last_tsc_ = 0;
  int64_t first_ns_ = 0, last_ns_ = 0;
};

}  // namespace attune::analysis
