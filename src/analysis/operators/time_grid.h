#pragma once
/// Sums over time in memory that does not grow with its length.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/source.h"

namespace attune::analysis {

/// Time in kBins parts of equal length. Where it goes on behind the last of them, their length doubles, and whoever
/// keeps values for them joins these in pairs (JoinPairs).
class TimeGrid {
 public:
  static constexpr size_t kBins = 4096;
  static constexpr int64_t kLeastBinNs = 1'000'000;

  /// Begins with the first time that is covered.
  TimeGrid() = default;
  /// For a range that is known: its parts keep their length.
  explicit TimeGrid(model::TimeRange range)
      : is_begun_(true),
        origin_ns_(range.t0_ns),
        bin_ns_(std::max<int64_t>(1, (range.t1_ns - range.t0_ns) / kBins + 1)) {}

  int64_t origin_ns() const { return origin_ns_; }
  int64_t bin_ns() const { return bin_ns_; }
  /// Parts up to that time, which is covered.
  size_t BinsUntil(int64_t t_ns) const {
    return t_ns <= origin_ns_ ? 0 : static_cast<size_t>((t_ns - origin_ns_ - 1) / bin_ns_ + 1);
  }

  /// Makes the grid reach up to that time. @return how often pairs of parts are to be joined
  int Cover(int64_t from_ns, int64_t to_ns) {
    if (!is_begun_) {
      is_begun_ = true;
      origin_ns_ = from_ns;
    }
    int joined = 0;
    for (; to_ns - origin_ns_ > bin_ns_ * static_cast<int64_t>(kBins); ++joined) bin_ns_ *= 2;
    return joined;
  }
  /// Joins once, to halve what is kept.
  void Double() { bin_ns_ *= 2; }

  /// Calls add(bin, ns) for each part that has some of the time in it. @pre the time is covered; what is before the
  /// origin is left out
  template <class AddTo>
  void Spread(int64_t from_ns, int64_t to_ns, const AddTo& add) const {
    from_ns = std::max(from_ns, origin_ns_);
    for (auto bin = (from_ns - origin_ns_) / bin_ns_; from_ns < to_ns; ++bin) {
      const int64_t next_ns = std::min(to_ns, origin_ns_ + (bin + 1) * bin_ns_);
      add(static_cast<size_t>(bin), next_ns - from_ns);
      from_ns = next_ns;
    }
  }

  template <class Value>
  static void JoinPairs(std::vector<Value>& bins) {
    for (size_t i = 0; i < bins.size(); ++i) {
      if (i % 2 == 0) {
        bins[i / 2] = bins[i];
      } else {
        bins[i / 2] += bins[i];
      }
    }
    bins.resize((bins.size() + 1) / 2);
  }

 private:
  bool is_begun_ = false;
  int64_t origin_ns_ = 0;
  int64_t bin_ns_ = kLeastBinNs;
};

}  // namespace attune::analysis
