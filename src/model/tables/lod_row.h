#pragma once
#include "model/table.h"

namespace attune::model {

/// A bucket of a level of detail (store/lod.h); behind these columns, for each series of the stream: last, low, high,
/// sum, weight.
struct LodRow {
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  int64_t count = 0;

  static constexpr Table kTable{11};
  static constexpr TableText kText{.name = "lod",
                                   .about = "samples of a stretch of time, summed up",
                                   .storage = Storage::kFile,
                                   .time = "t0_ns",
                                   .has_series_columns = true,
                                   .is_outdated = true};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&LodRow::t0_ns, "t0_ns", Role::kTime, "ns", "of its first sample"),
                 Col(&LodRow::t1_ns, "t1_ns", Role::kTime, "ns", "of the first sample behind it"),
                 Col(&LodRow::count, "count", Role::kInteger, "", "samples in it"));
  }
};

}  // namespace attune::model
