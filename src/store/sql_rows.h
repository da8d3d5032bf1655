#pragma once
/// Where the rows of an SQL table come from: computed at once for the small tables, a stretch of time after the other
/// for samples and events, so that a query needs little memory however long the recording is.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/source.h"

namespace attune::store {

/// NULL, integer, real, text. Text lives until the next row.
using SqlCell = std::variant<std::monostate, int64_t, double, std::string_view>;

/// What a WHERE clause says that a table makes use of: exactly the rows that fit are given.
struct SqlConstraints {
  std::optional<int64_t> key;  ///< the key column has this value
  model::TimeRange time{INT64_MIN, INT64_MAX};
};

class SqlRows {
 public:
  virtual ~SqlRows() = default;
  /// To the first or the next row; false: there is none.
  virtual Result<bool> Next() = 0;
  virtual SqlCell Cell(int column) const = 0;
};

struct SqlTable {
  std::string_view name;
  std::string_view columns;  ///< "id INTEGER, name TEXT"
  int key_column = -1;       ///< an equality on it is pushed down
  int time_column = -1;      ///< bounds on it are pushed down, and rows come in its order
  bool key_is_unique = false;
  bool is_large = false;
  std::unique_ptr<SqlRows> (*open)(const std::shared_ptr<model::Source>& source,
                                   const SqlConstraints& constraints) = nullptr;
};

/// Tables that are made at once from what is in memory.
std::span<const SqlTable> SmallSqlTables();
/// Tables that are read a stretch of time after the other.
std::span<const SqlTable> TimedSqlTables();

/// "region_begin", "instant"; "?" for a kind that does not exist.
std::string_view EventKindName(int64_t kind);

}  // namespace attune::store
