#pragma once
/// A counter of limited width, made one that only grows.

#include <cmath>
#include <cstdint>

namespace attune::sensor {

/// Follows one counter register. What is added is the difference modulo the register's width, so that a wrap is not
/// seen. A step that the counter cannot have made is a reset: then the value goes backwards, which readers show as a
/// missing rate and never as a spike. @thread one at a time
class CounterTrack {
 public:
  /// @param bits width of the counter, 1 to 64
  explicit CounterTrack(int bits = 64) : mask_(bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1) {}

  /// The steps that Add() would take as one of a working counter, where nothing else is known: half of the range.
  uint64_t HalfRange() const { return mask_ / 2; }
  /// The step from the value before to `raw`; 0 for the first.
  uint64_t StepTo(uint64_t raw) const { return known_ ? (raw - last_) & mask_ : 0; }

  /// @param plausible the largest step that counts as one  @param factor multiplier of a step; the fraction
  /// that is left goes into the next step  @return the value so far
  int64_t Add(uint64_t raw, uint64_t plausible, double factor = 1) {
    raw &= mask_;
    const uint64_t step = StepTo(raw);
    last_ = raw;
    const int64_t start = static_cast<int64_t>(raw & (uint64_t{INT64_MAX} >> 1));
    if (!known_) {
      known_ = true;
      value_ = start;
    } else if (step > plausible) {
      value_ = start < value_ ? start : 0;
      rest_ = 0;
    } else {
      const uint64_t sum = static_cast<uint64_t>(value_) + static_cast<uint64_t>(Scaled(step, factor));
      value_ = static_cast<int64_t>(sum & INT64_MAX);
    }
    return value_;
  }
  /// The next value is a first one again: the counter was out of sight.
  void Forget() { known_ = false; }
  int64_t value() const { return value_; }

 private:
  int64_t Scaled(uint64_t step, double factor) {
    if (factor == 1) return static_cast<int64_t>(step & INT64_MAX);
    const double exact = std::fmin(static_cast<double>(step) * factor + rest_, 0x1p62);
    const double whole = std::floor(exact);
    rest_ = exact - whole;
    return static_cast<int64_t>(whole);
  }

  uint64_t mask_;
  uint64_t last_ = 0;
  int64_t value_ = 0;
  double rest_ = 0;
  bool known_ = false;
};

}  // namespace attune::sensor
