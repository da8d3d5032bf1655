#pragma once
#include "model/table.h"

namespace attune::model {

/// Values of a stream at a moment; behind this column one for each series of the stream, in the order of `streams`.
struct Sample {
  int64_t t_ns = 0;

  static constexpr Table kTable{5};
  static constexpr TableText kText{.name = "samples",
                                   .about = "the values of a stream at a moment; in SQL: one of them",
                                   .storage = Storage::kTimed,
                                   .time = "t_ns",
                                   .has_own_reader = true,
                                   .has_series_columns = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&Sample::t_ns, "t_ns", Role::kTime, "ns", "when"));
  }
};

}  // namespace attune::model
