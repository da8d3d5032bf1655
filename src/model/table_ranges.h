#pragma once
/// Reading the part of a table that lies within a range of time.

#include <functional>

#include "model/source.h"

namespace attune::model {

/// Additional interface of a Source that can find the rows of a time range.
class TableRanges {
 public:
  virtual ~TableRanges() = default;
  /// As Source::ReadTable: batches that have rows within the range, which may have others too.
  /// @cost that of these batches
  virtual Status ReadTableWithin(Table table, TimeRange range, const std::function<bool(const Batch&)>& visit) = 0;
};

/// The same for any source; a source without TableRanges reads the whole table.
inline Status ReadTableWithin(Source& source, Table table, TimeRange range,
                              const std::function<bool(const Batch&)>& visit) {
  auto* ranges = dynamic_cast<TableRanges*>(&source);
  return ranges == nullptr ? source.ReadTable(table, visit) : ranges->ReadTableWithin(table, range, visit);
}

}  // namespace attune::model
