#pragma once
/// Where the rows of an SQL table come from: a stretch of time after the other for samples and events, so that a query
/// needs little memory however long the recording is; all at once for the others.

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
  Result<bool> Next() {
    if (++row_ < rows_) return true;
    ATTUNE_TRY(rows_, NextRows());
    row_ = 0;
    return rows_ > 0;
  }
  /// A column of the rows at hand, if it is one of plain integers (kAbsent: NULL): the way without a virtual call.
  const int64_t* Integers(int column) const {
    const auto at = static_cast<size_t>(column);
    return at < integers_.size() ? integers_[at].data() : nullptr;
  }
  size_t row() const { return row_; }
  /// The value in row(); for columns that are not in Integers().
  virtual SqlCell Cell(int column) const = 0;

 protected:
  /// The next rows, and how many they are; 0: there are no more.
  virtual Result<size_t> NextRows() = 0;
  std::span<const std::vector<int64_t>> integers_;

 private:
  size_t row_ = 0;
  size_t rows_ = 0;
};

struct SqlTable {
  using Open = std::function<std::unique_ptr<SqlRows>(const std::shared_ptr<model::Source>& source,
                                                      const SqlConstraints& constraints)>;
  std::string name;
  std::string columns;   ///< "id INTEGER, name TEXT"
  int key_column = -1;   ///< an equality on it is pushed down
  int time_column = -1;  ///< bounds on it are pushed down, and rows come in its order
  bool key_is_unique = false;
  bool is_large = false;
  Open open;
};

/// The schema's tables, with all rows of the time that is asked for in memory; but those of TimedSqlTables, which are
/// here too.
std::vector<SqlTable> AllSqlTables();
/// Tables that are read a stretch of time after the other: samples, events, and the regions that events make.
std::vector<SqlTable> TimedSqlTables();

}  // namespace attune::store
