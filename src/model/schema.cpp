#include "model/schema.h"

#include <algorithm>
#include <array>

namespace attune::model {
namespace {

/// Passes rows of frames through the type of the table's rows: foreign values are corrected, or their rows left out.
template <TableRow Row>
Batch Checked(const Batch& batch) {
  Batch checked = ToBatch(RowsFrom<Row>(batch));
  checked.stream = batch.stream;
  return checked;
}

/// Exempts samples and levels of detail (further columns follow) and events (those of later times are kept).
template <TableRow Row>
constexpr bool HasCheck() {
  return Row::kText.storage != Storage::kFile && Row::kText.storage != Storage::kPage && !Row::kText.has_own_reader;
}

template <TableRow Row>
TableSchema SchemaOf() {
  TableSchema schema{.table = Row::kTable, .text = Row::kText};
  rows_detail::ForEachColumn<Row>([&](auto at) {
    constexpr size_t kPlace = rows_detail::Place<Row, at>();
    schema.columns.push_back(rows_detail::kColumn<Row, at>.schema);
    schema.places.push_back(kPlace);
    if (schema.columns.back().name == Row::kText.time) schema.time_column = static_cast<int>(kPlace);
  });
  if constexpr (HasCheck<Row>()) schema.checked = Checked<Row>;
  return schema;
}

template <class... Rows>
std::vector<TableSchema> SchemasOf(std::type_identity<std::tuple<Rows...>>) {
  std::vector<TableSchema> schemas{SchemaOf<Rows>()...};
  std::ranges::sort(schemas, {}, &TableSchema::table);
  return schemas;
}

const std::vector<TableSchema>& Schemas() {
  static const std::vector<TableSchema> schemas = SchemasOf(std::type_identity<AllTables>());
  return schemas;
}

}  // namespace

std::optional<size_t> TableSchema::FindColumn(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnSchema::name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

std::span<const TableSchema> AllSchemas() { return Schemas(); }

const TableSchema* FindSchema(Table table) {
  const auto& schemas = Schemas();
  const auto found = std::ranges::lower_bound(schemas, table, {}, &TableSchema::table);
  return found != schemas.end() && found->table == table ? &*found : nullptr;
}

bool IsTimed(Table table) {
  const TableSchema* schema = FindSchema(table);
  return schema != nullptr && schema->text.storage == Storage::kTimed;
}

bool IsKept(Table table) {
  const TableSchema* schema = FindSchema(table);
  return schema != nullptr && schema->IsKept();
}

Batch ToBatch(std::span<const Stream> rows) {
  std::vector<StreamColumn> columns;
  for (const Stream& row : rows) {
    for (size_t column = 0; column < row.series.size(); ++column)
      columns.push_back({row.id, static_cast<int64_t>(column), row.series[column], row.interval_ns});
  }
  return ToBatch(columns);
}

template <>
std::vector<Stream> RowsFrom<Stream>(const Batch& batch) {
  std::vector<Stream> rows;
  for (const StreamColumn& each : RowsFrom<StreamColumn>(batch)) {
    const bool follows = !rows.empty() && rows.back().id == each.stream &&
                         each.column == static_cast<int64_t>(rows.back().series.size());
    if (each.column == 0) {
      rows.push_back({each.stream, each.interval_ns, {}});
    } else if (!follows) {
      continue;
    }
    rows.back().series.push_back(each.series);
  }
  return rows;
}

Batch InfoBatch(std::span<const std::pair<std::string, std::string>> rows) {
  std::vector<InfoRow> infos;
  for (const auto& [key, value] : rows) infos.push_back({key, value});
  return ToBatch(infos);
}

std::pair<int64_t, int64_t> TimeExtent(const Batch& batch) {
  const TableSchema* schema = FindSchema(batch.table);
  if (schema == nullptr || schema->time_column < 0 || batch.rows == 0) return {0, 0};
  const auto& times = batch.ints[static_cast<size_t>(schema->time_column)];
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  return {*low, *high};
}

}  // namespace attune::model
