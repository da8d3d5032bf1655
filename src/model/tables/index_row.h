#pragma once
#include "model/table.h"

namespace attune::model {

/// A frame of the file, as an index frame lists it (store/frame_index.h).
struct IndexRow {
  int64_t table = 0;
  int64_t stream = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t sequence = 0;

  static constexpr Table kTable{12};
  static constexpr TableText kText{.name = "index", .about = "a frame of the file", .storage = Storage::kFile};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&IndexRow::table, "table", Role::kInteger, "", "number of its table"),
                 Col(&IndexRow::stream, "stream", Role::kInteger, "", "of its rows"),
                 Col(&IndexRow::offset, "offset", Role::kInteger, "bytes", "of its header, in the file"),
                 Col(&IndexRow::bytes, "bytes", Role::kInteger, "bytes", "header and payload"),
                 Col(&IndexRow::rows, "rows", Role::kInteger, "", "in it"),
                 Col(&IndexRow::first_ns, "first_ns", Role::kInteger, "ns", "smallest time of its rows"),
                 Col(&IndexRow::last_ns, "last_ns", Role::kInteger, "ns", "largest time of its rows"),
                 Col(&IndexRow::sequence, "sequence", Role::kInteger, "", "counts those of the same stream"));
  }
};

}  // namespace attune::model
