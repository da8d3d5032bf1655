#pragma once
#include "model/table.h"

namespace attune::model {

struct ClockReading {
  int64_t tsc = 0;
  int64_t monotonic_ns = 0;
  int64_t real_ns = 0;

  bool operator==(const ClockReading&) const = default;

  static constexpr Table kTable{10};
  static constexpr TableText kText{.name = "clock",
                                   .about = "one reading of all clocks",
                                   .time = "monotonic_ns",
                                   .is_outdated = true,
                                   .is_merged_apart = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&ClockReading::tsc, "tsc", Role::kInteger, "ticks", "the processor's time stamp counter"),
                 Col(&ClockReading::monotonic_ns, "monotonic_ns", Role::kTime, "ns", "CLOCK_MONOTONIC"),
                 Col(&ClockReading::real_ns, "real_ns", Role::kInteger, "ns", "wall clock, since 1970"));
  }
};

}  // namespace attune::model
