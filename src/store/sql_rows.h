#pragma once
/// The rows of an SQL table. Samples and events are read in stretches of time, so that a query needs little memory
/// however long the recording is; other tables are read at once.

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
#include "store/account_row.h"

namespace attune::store {

/// NULL, integer, real, text. Text lives until the next row.
using SqlCell = std::variant<std::monostate, int64_t, double, std::string_view>;

/// The conditions of a WHERE clause that a table evaluates itself: it returns exactly the matching rows.
struct SqlConstraints {
  std::optional<int64_t> key;  ///< the key column has this value
  model::TimeRange time{INT64_MIN, INT64_MAX};
};

class SqlRows {
 public:
  virtual ~SqlRows() = default;

  /// Moves to the first or next row; false: there are no more.
  Result<bool> Next() {
    if (++row_ < rows_) return true;
    ATTUNE_TRY(rows_, NextRows());
    row_ = 0;
    return rows_ > 0;
  }
  /// An integer column of the current block of rows (kAbsent: NULL), without a virtual call; nullptr for other columns.
  const int64_t* Integers(int column) const {
    const auto at = static_cast<size_t>(column);
    return at < integers_.size() ? integers_[at].data() : nullptr;
  }
  size_t row() const { return row_; }
  /// The value in row(); for columns that are not in Integers().
  virtual SqlCell Cell(int column) const = 0;

 protected:
  /// Loads the next block of rows and returns their number; 0: there are no more.
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

/// All SQL tables: those of the schema, which hold all rows of the requested time in memory, TimedSqlTables(), and
/// those that are computed. @param account empty: that table cannot be read
std::vector<SqlTable> AllSqlTables(const AccountReader& account = {});
/// Tables that are read in stretches of time: samples, events, and regions, which are computed from events.
std::vector<SqlTable> TimedSqlTables();

}  // namespace attune::store
