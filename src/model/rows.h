#pragma once
/// Batches of typed rows, and back. Foreign batches may have fewer columns (older recordings) or more (later ones).

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/batch.h"

namespace attune::model {
namespace rows_detail {

template <TableRow Row>
inline constexpr auto kColumnsOf = Row::Columns([](const auto&... column) { return std::tuple(column...); });

template <TableRow Row>
inline constexpr size_t kColumns = std::tuple_size_v<std::remove_cvref_t<decltype(kColumnsOf<Row>)>>;

template <TableRow Row, size_t kAt>
inline constexpr auto kColumn = std::get<kAt>(kColumnsOf<Row>);

template <TableRow Row, size_t kAt>
using Value = std::remove_cvref_t<decltype(std::declval<Row>().*kColumn<Row, kAt>.member)>;

template <TableRow Row, size_t kAt>
inline constexpr bool kIsText = std::is_same_v<Value<Row, kAt>, std::string>;

/// Position of a column in frames: among the integers, or among the texts.
template <TableRow Row, size_t kAt>
constexpr size_t Place() {
  return []<size_t... kBefore>(std::index_sequence<kBefore...>) {
    return (size_t{0} + ... + (kIsText<Row, kBefore> == kIsText<Row, kAt> ? 1 : 0));
  }(std::make_index_sequence<kAt>());
}

/// Calls `visit` with each column's number as a constant.
template <TableRow Row, class Visit>
constexpr void ForEachColumn(const Visit& visit) {
  [&]<size_t... kAt>(std::index_sequence<kAt...>) {
    (visit(std::integral_constant<size_t, kAt>()), ...);
  }(std::make_index_sequence<kColumns<Row>>());
}

/// Takes over a foreign value. @return false: there cannot be such a row
template <Role kRole, class Cell>
bool Take(int64_t value, Cell& cell) {
  if constexpr (kRole == Role::kCode || kRole == Role::kLateCode) {
    if (WordOf<Cell>(value) == "?") return kRole == Role::kLateCode;
    cell = static_cast<Cell>(value);
  } else if constexpr (kRole == Role::kFlag) {
    cell = value == 1;
  } else if constexpr (kRole == Role::kScale) {
    constexpr int64_t kLargest = 18;
    if (value < -kLargest || value > kLargest) return false;
    cell = static_cast<Cell>(value);
  } else if constexpr (kRole == Role::kAmount) {
    cell = std::max<int64_t>(value, 0);
  } else if constexpr (std::is_same_v<Cell, uint32_t>) {
    cell = value > 0 && value <= UINT32_MAX ? static_cast<uint32_t>(value) : 0;
  } else {
    cell = value;
  }
  return true;
}

}  // namespace rows_detail

/// @param rows a contiguous range of rows of one type
template <std::ranges::contiguous_range Rows>
  requires TableRow<std::ranges::range_value_t<Rows>>
Batch ToBatch(const Rows& rows) {
  namespace detail = rows_detail;
  using Row = std::ranges::range_value_t<Rows>;
  Batch batch;
  batch.table = Row::kTable;
  batch.rows = std::ranges::size(rows);
  detail::ForEachColumn<Row>([&](auto at) {
    constexpr auto& column = detail::kColumn<Row, at>;
    if constexpr (detail::kIsText<Row, at>) {
      auto& cells = batch.texts.emplace_back();
      cells.reserve(batch.rows);
      for (const Row& row : rows) cells.push_back(row.*column.member);
    } else {
      auto& cells = batch.ints.emplace_back();
      cells.reserve(batch.rows);
      for (const Row& row : rows) cells.push_back(static_cast<int64_t>(row.*column.member));
    }
  });
  return batch;
}

/// Rows with codes that do not exist, and those that Row::Check refuses, are left out.
template <TableRow Row>
std::vector<Row> RowsFrom(const Batch& batch) {
  namespace detail = rows_detail;
  std::vector<Row> rows;
  rows.reserve(batch.rows);
  for (size_t i = 0; i < batch.rows; ++i) {
    Row row;
    bool is_good = true;
    detail::ForEachColumn<Row>([&](auto at) {
      constexpr auto& column = detail::kColumn<Row, at>;
      constexpr size_t kPlace = detail::Place<Row, at>();
      if constexpr (detail::kIsText<Row, at>) {
        if (kPlace < batch.texts.size()) row.*column.member = batch.texts[kPlace][i];
      } else {
        const int64_t value = kPlace < batch.ints.size() ? batch.ints[kPlace][i] : kAbsent;
        is_good = detail::Take<column.schema.role>(value, row.*column.member) && is_good;
      }
    });
    if constexpr (requires { row.Check(); }) is_good = is_good && row.Check();
    if (is_good) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace attune::model
