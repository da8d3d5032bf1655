#pragma once
/// Values of series as they are shown: the rate of a counter, the level, the share of the largest rate, and one value
/// of several elements. Views, alarms, status, reports and exports use these, so that they cannot differ.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "model/tables/series.h"

namespace attune::model {

/// From one sample of a counter to a later one.
struct Growth {
  double amount = 0;  ///< raw units; NaN: there is none (first sample, absent value, wrap, reset)
  double ns = 0;

  double PerSecond() const { return amount * 1e9 / ns; }
};

inline Growth GrowthBetween(int64_t t0_ns, int64_t value0, int64_t t1_ns, int64_t value1) {
  const bool grew = value0 != kAbsent && value1 != kAbsent && value1 >= value0 && t1_ns > t0_ns;
  if (!grew) return {std::nan(""), 0};
  return {static_cast<double>(static_cast<uint64_t>(value1) - static_cast<uint64_t>(value0)),
          static_cast<double>(static_cast<uint64_t>(t1_ns) - static_cast<uint64_t>(t0_ns))};
}

/// The largest rate of a counter, and the steps in which it counts: CPU time comes at ticks of the kernel's, so that a
/// sample that is shorter than a tick may have several times what its time allows.
class RateLimit {
 public:
  RateLimit() = default;
  /// @param max_per_second of a series, in raw units; kAbsent: nothing is known, and nothing is limited
  explicit RateLimit(int64_t max_per_second)
      : per_ns_(max_per_second > 0 ? static_cast<double>(max_per_second) * 1e-9 : 0),
        steps_(std::max(kMostSteps, kMostSteps * kLongestTickNs * per_ns_)) {}

  /// The largest amount that a growth's time allows; infinite: nothing is known, or the growth has more than steps
  /// explain, so that the limit cannot be right.
  double MostOf(const Growth& growth) const {
    const double most = per_ns_ * growth.ns;
    const bool holds = IsKnown() && growth.amount <= most + steps_;
    return holds ? most : std::numeric_limits<double>::infinity();
  }
  bool IsKnown() const { return per_ns_ > 0; }
  /// The most that steps add to a growth, in raw units.
  double steps() const { return steps_; }

 private:
  /// A step at each end of a sample may belong to the time around it.
  static constexpr double kMostSteps = 2;
  /// USER_HZ, in which /proc/stat counts; the kernel's own ticks are shorter.
  static constexpr double kLongestTickNs = 10e6;

  double per_ns_ = 0;
  double steps_ = kMostSteps;
};

/// Takes the growths of a counter, sample by sample. What steps add to one beyond its largest rate is put into those
/// after it: no rate is above the limit, and sums stay what they are.
class StepSpreader {
 public:
  explicit StepSpreader(int64_t max_per_second = kAbsent) : limit_(max_per_second) {}

  Growth Next(Growth growth) {
    if (!limit_.IsKnown()) return growth;
    const double most = limit_.MostOf(growth);
    const double all = growth.amount + owed_;
    owed_ = all > most ? std::min(all - most, limit_.steps()) : 0;
    growth.amount = std::min(all, most);
    return growth;
  }

 private:
  RateLimit limit_;
  double owed_ = 0;
};

/// The newest sample of a series, and the earlier one that its rate counts from. Values are nullopt where not known.
struct SeriesReading {
  Series series;
  int64_t base_ns = kAbsent;
  int64_t base = kAbsent;
  int64_t t_ns = kAbsent;
  int64_t raw = kAbsent;

  Growth Grown() const {
    Growth growth = GrowthBetween(base_ns, base, t_ns, raw);
    growth.amount = std::min(growth.amount, RateLimit(series.max_per_second).MostOf(growth));
    return growth;
  }
  /// In the series's unit.
  std::optional<double> Level() const {
    return raw == kAbsent ? std::nullopt : std::optional(static_cast<double>(raw) * series.Factor());
  }
  /// The same a second.
  std::optional<double> Rate() const {
    const Growth growth = Grown();
    return std::isnan(growth.amount) ? std::nullopt : std::optional(growth.PerSecond() * series.Factor());
  }
  /// Percent of the largest rate.
  std::optional<double> Share() const {
    const Growth growth = Grown();
    if (std::isnan(growth.amount) || series.max_per_second <= 0) return std::nullopt;
    return 100 * growth.PerSecond() / static_cast<double>(series.max_per_second);
  }
};

/// The values of several elements as one.
class SumOfElements {
 public:
  explicit SumOfElements(SumRule rule = SumRule::kSum) : rule_(rule) {}

  void Add(double value) {
    ++count_;
    if (count_ == 1) {
      value_ = value;
    } else if (rule_ == SumRule::kMax) {
      value_ = std::max(value_, value);
    } else if (rule_ == SumRule::kMean) {
      value_ += (value - value_) / count_;
    } else {
      value_ += value;
    }
  }
  /// Nothing where no value came.
  std::optional<double> Value() const { return count_ == 0 ? std::nullopt : std::optional(value_); }

 private:
  SumRule rule_;
  int count_ = 0;
  double value_ = 0;
};

}  // namespace attune::model
