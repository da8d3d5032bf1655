#pragma once
/// The descriptions of all tables, for what treats them alike: frames, SQL, exports, merging.

#include <concepts>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/all_tables.h"  // made by CMake of the folder model/tables
#include "model/rows.h"

namespace attune::model {

struct TableSchema {
  Table table{};
  TableText text;
  std::vector<ColumnSchema> columns;  ///< in the order in which SQL shows them; of samples and lod the fixed ones only
  std::vector<size_t> places;         ///< position of each column in frames, among the integers or the texts
  int time_column = -1;               ///< index among the integers of the column that frames are ordered by; -1: none
  Batch (*checked)(const Batch&) = nullptr;  ///< the rows that are none left out; nullptr: rows can have any values

  bool IsKept() const { return text.storage == Storage::kReplaced || text.storage == Storage::kAppended; }
  bool IsText(size_t column) const { return columns[column].role == Role::kText; }
  /// nullopt: there is no such column.
  std::optional<size_t> FindColumn(std::string_view name) const;
};

/// By number.
std::span<const TableSchema> AllSchemas();
/// nullptr for a number that is no table.
const TableSchema* FindSchema(Table table);

/// Whether rows of the table make up the recording's extent.
bool IsTimed(Table table);
/// Whether Metadata holds the table.
bool IsKept(Table table);

/// A later row of the same key replaces this one, where Storage::kReplaced holds.
template <class Row>
auto KeyOf(const Row& row) {
  if constexpr (requires { row.Key(); }) {
    return row.Key();
  } else {
    return row.id;
  }
}

Batch ToBatch(std::span<const Stream> rows);
inline Batch ToBatch(const std::vector<Stream>& rows) { return ToBatch(std::span<const Stream>(rows)); }
/// Columns of a stream that do not stand together and in order are left out.
template <std::same_as<Stream> Row>
std::vector<Row> RowsFrom(const Batch& batch);
template <>
std::vector<Stream> RowsFrom<Stream>(const Batch& batch);
Batch InfoBatch(std::span<const std::pair<std::string, std::string>> rows);

}  // namespace attune::model
