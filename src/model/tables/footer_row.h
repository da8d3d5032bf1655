#pragma once
#include "model/table.h"

namespace attune::model {

/// The last frame of a file that was closed (store/frame_index.h).
struct FooterRow {
  int64_t index_offset = 0;
  int64_t index_bytes = 0;

  static constexpr Table kTable{13};
  static constexpr TableText kText{
      .name = "footer", .about = "the end of a file that was closed", .storage = Storage::kFile};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&FooterRow::index_offset, "index_offset", Role::kInteger, "bytes", "of the last index frame"),
                 Col(&FooterRow::index_bytes, "index_bytes", Role::kInteger, "bytes", "of the last index frame"));
  }
};

}  // namespace attune::model
