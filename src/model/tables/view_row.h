#pragma once
#include "model/table.h"

namespace attune::model {

/// A point of a chart (docs/live.md); the frame's stream is the series.
struct ViewRow {
  int64_t t_ns = 0;
  int64_t from_ns = 0;
  int64_t exponent = 0;
  int64_t count = 0;
  int64_t mean = 0;
  int64_t low = 0;
  int64_t high = 0;

  static constexpr Table kTable{16};
  static constexpr TableText kText{
      .name = "view", .about = "a point of a chart (live.md)", .storage = Storage::kPage, .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&ViewRow::t_ns, "t_ns", Role::kTime, "ns", "of the sample, or the start of the bucket"),
                 Col(&ViewRow::from_ns, "from_ns", Role::kTime, "ns", "begin of the view that it belongs to"),
                 Col(&ViewRow::exponent, "exponent", Role::kInteger, "", "of mean, low and high"),
                 Col(&ViewRow::count, "count", Role::kInteger, "", "samples in the bucket"),
                 Col(&ViewRow::mean, "mean", Role::kInteger, "", "of the samples"),
                 Col(&ViewRow::low, "low", Role::kInteger, "", "smallest sample"),
                 Col(&ViewRow::high, "high", Role::kInteger, "", "largest sample"));
  }
};

}  // namespace attune::model
