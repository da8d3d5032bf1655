#pragma once
/// Reading the part of a table that lies within a range of time.

#include <functional>

#include "model/source.h"

namespace attune::model {

/// What a Source is, too, that knows where the rows of a range lie.
class TableRanges {
 public:
  virtual ~TableRanges() = default;
  /// As Source::ReadTable: batches that have rows within the range, which may have others too.
  /// @cost that of these batches
  virtual Status ReadTableWithin(Table table, TimeRange range, const std::function<bool(const Batch&)>& visit) = 0;
};

/// Of any source: of one that does not know where rows lie, all of the table.
inline Status ReadTableWithin(Source& source, Table table, TimeRange range,
                              const std::function<bool(const Batch&)>& visit) {
  auto* ranges = dynamic_cast<TableRanges*>(&source);
  return ranges == nullptr ? source.ReadTable(table, visit) : ranges->ReadTableWithin(table, range, visit);
}

}  // namespace attune::model
