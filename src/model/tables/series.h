#pragma once
#include <cmath>

#include "model/table.h"

namespace attune::model {

/// How a series is shown. Raw values are stored; rates and percentages are views.
enum class SeriesKind : uint8_t {
  kCounter = 1,  ///< only grows (until it wraps or resets); shown as a rate a second
  kUpDown = 2,   ///< grows and falls; shown as a level and a signed rate
  kGauge = 3,    ///< a level
  kState = 4,    ///< a small set of codes
};
template <>
struct Words<SeriesKind> {
  static constexpr std::array<std::string_view, 5> kAll{"?", "counter", "updown", "gauge", "state"};
};

/// Rule that makes one value of the machine from those of several elements (`-s NAME:sum`). Absent ones are left out.
enum class SumRule : uint8_t {
  kSum,   ///< for values that add up: counts, times, bytes
  kMean,  ///< for the same thing seen in several places: frequencies
  kMax,   ///< the worst value counts: temperatures
  kNone,  ///< makes no sense for all together (a state, a voltage): the signal is left out
};
template <>
struct Words<SumRule> {
  static constexpr std::array<std::string_view, 4> kAll{"sum", "mean", "max", "none"};
};

struct Series {
  SeriesId id = 0;
  ElementId element = 0;
  SeriesKind kind = SeriesKind::kGauge;
  int scale = 0;                     ///< value = raw * 10^scale, in `unit`
  int64_t max_per_second = kAbsent;  ///< in raw units, for percentages
  std::string sensor;                ///< "vmstat"
  std::string signal;                ///< "pgfault"
  std::string unit;                  ///< "pages", "ns", "bytes", "1"
  SumRule sum = SumRule::kSum;       ///< rule for this signal's values of several elements

  bool operator==(const Series&) const = default;

  bool Check() const { return id != 0; }
  /// From raw values to `unit`.
  double Factor() const { return std::pow(10.0, scale); }
  /// In `unit` a second: 100 %. 0: not known
  double LargestRate() const { return max_per_second > 0 ? static_cast<double>(max_per_second) * Factor() : 0; }

  static constexpr Table kTable{3};
  static constexpr TableText kText{.name = "series",
                                   .about = "a signal of an element",
                                   .storage = Storage::kReplaced,
                                   .key = "id",
                                   .key_is_unique = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Series::id, "id", Role::kSeries, "", "dense from 1"),
                 Col(&Series::sensor, "sensor", Role::kText, "", "vmstat"),
                 Col(&Series::signal, "signal", Role::kText, "", "pgfault"),
                 Col(&Series::element, "element", Role::kElement, "", "of what"),
                 Col(&Series::unit, "unit", Role::kText, "", "of value * 10^scale: pages, ns, bytes, 1"),
                 Col(&Series::kind, "kind", Role::kCode, "",
                     "counter: only grows; updown: grows and falls; gauge: a level; "
                     "state: a small set of codes"),
                 Col(&Series::scale, "scale", Role::kScale, "", "power of ten of the raw values"),
                 Col(&Series::max_per_second, "max_per_second", Role::kInteger, "", "raw; for percentages"),
                 Col(&Series::sum, "sum", Role::kLateCode, "", "what the values of several elements become in one"));
  }
};

}  // namespace attune::model
