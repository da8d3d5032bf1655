#include "analysis/report/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attune::analysis {
namespace {

constexpr int kBits = 5;
constexpr uint64_t kPerOctave = 1u << kBits;

/// Values below 32 have a bucket each; above, the five bits behind the leading one choose it.
size_t BucketOf(uint64_t value) {
  if (value < kPerOctave) return value;
  const int shift = std::bit_width(value) - 1 - kBits;
  return static_cast<size_t>(shift + 1) * kPerOctave + ((value >> shift) - kPerOctave);
}

/// The middle of a bucket.
uint64_t ValueOf(size_t bucket) {
  if (bucket < kPerOctave) return bucket;
  const size_t shift = bucket / kPerOctave - 1;
  const uint64_t low = (bucket % kPerOctave + kPerOctave) << shift;
  return low + ((uint64_t{1} << shift) - 1) / 2;
}

}  // namespace

void DurationHistogram::Add(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  const size_t bucket = BucketOf(static_cast<uint64_t>(ns));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += static_cast<double>(ns);
  ++count_;
}

int64_t DurationHistogram::Quantile(double share) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<uint64_t>(std::max(1.0, std::ceil(share * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted) return std::clamp(static_cast<int64_t>(ValueOf(bucket)), min_, max_);
  }
  return max_;
}

}  // namespace attune::analysis
