#pragma once
#include <vector>

#include "model/table.h"

namespace attune::model {

/// A latch group: series sampled at the same moments.
struct Stream {
  StreamId id = 0;
  int64_t interval_ns = 0;  ///< 0: irregular
  std::vector<SeriesId> series;

  bool operator==(const Stream&) const = default;

  static constexpr Table kTable{4};
  static constexpr TableText kText{.name = "streams",
                                   .about = "a column of a stream: series that are sampled at the same moments",
                                   .storage = Storage::kReplaced,
                                   .key = "stream"};
};

/// A column of a stream. Those of one stream stand together and in order.
struct StreamColumn {
  StreamId stream = 0;
  int64_t column = 0;
  SeriesId series = 0;
  int64_t interval_ns = 0;

  bool operator==(const StreamColumn&) const = default;

  bool Check() const { return stream != 0 && series != 0; }

  static constexpr Table kTable = Stream::kTable;
  static constexpr TableText kText = Stream::kText;
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&StreamColumn::stream, "stream", Role::kStream, "", "dense from 1"),
                 Col(&StreamColumn::column, "column", Role::kInteger, "", "from 0"),
                 Col(&StreamColumn::series, "series", Role::kSeries, "", "whose values the column has"),
                 Col(&StreamColumn::interval_ns, "interval_ns", Role::kAmount, "ns", "0: irregular"));
  }
};

}  // namespace attune::model
