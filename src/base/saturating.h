#pragma once
/// Sums of values that a file, a ring or a peer may have made up: they end at the limits of int64 and never wrap.

#include <algorithm>
#include <cstdint>

namespace attune {

/// a + b; out of range INT64_MAX, or INT64_MIN + 1 (INT64_MIN stands for "not known" in tables).
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN + 1;
}
constexpr int64_t SaturatingSub(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? INT64_MAX : INT64_MIN + 1;
}
/// A size or count that is told without a sign.
constexpr int64_t Amount(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }
constexpr void AddTo(int64_t& sum, int64_t value) { sum = SaturatingAdd(sum, value); }

/// 0 where there is no whole.
constexpr double PartOf(int64_t part, int64_t whole) {
  return whole <= 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// A time or length in nanoseconds, so that a few of them can be added or subtracted without a check.
constexpr int64_t SaneTime(int64_t t_ns) { return std::clamp<int64_t>(t_ns, 0, INT64_MAX / 4); }

}  // namespace attune
