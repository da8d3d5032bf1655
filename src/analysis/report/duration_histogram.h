#pragma once
/// Quantiles of durations in bounded memory: 32 buckets an octave, so that a quantile is off by at most 1.6 %.

#include <cstdint>
#include <vector>

namespace attune::analysis {

class DurationHistogram {
 public:
  /// @param ns negative counts as 0. @cost about 5 ns; at most 16 KB in all
  void Add(int64_t ns);
  int64_t count() const { return count_; }
  int64_t min() const { return min_; }
  int64_t max() const { return max_; }
  double Sum() const { return sum_; }
  /// The smallest duration that at least `share` of all durations do not exceed; 0 without any. @param share 0 to 1
  int64_t Quantile(double share) const;

 private:
  std::vector<uint64_t> buckets_;  // grows to the largest bucket in use
  int64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace attune::analysis
