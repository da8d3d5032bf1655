#pragma once
/// SQL over a Source (docs/query.md lists the tables). SQLite reads the source by virtual tables, without a copy.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "model/source.h"
#include "store/account_row.h"

struct sqlite3;

namespace attune::store {

/// NULL, integer, real, text. Text is valid during the call.
using QueryValue = std::variant<std::monostate, int64_t, double, std::string_view>;

struct QueryVisitor {
  std::function<void(std::span<const std::string> names)> on_columns;  ///< once, before the rows
  std::function<bool(std::span<const QueryValue> values)> on_row;      ///< returns false to stop
};

struct QueryLimits {
  uint64_t max_rows = 0;  ///< 0: no limit
  int64_t time_ns = 0;    ///< 0: no limit
};

struct QuerySummary {
  uint64_t rows = 0;
  bool complete = true;  ///< false: stopped by the visitor or by max_rows
};

/// @thread one at a time; several queries may read one source concurrently
class Query {
 public:
  /// @param source must outlive the query  @param account empty: the table account cannot be read
  static Result<Query> Open(model::Source& source, AccountReader account = {});

  /// Runs one read-only statement. Errors: kInvalidArgument with the position in the SQL and the known names,
  /// kPermission for a statement that would write, kTimeout.
  Result<QuerySummary> Run(std::string_view sql, const QueryVisitor& visitor, const QueryLimits& limits = {});

 private:
  struct CloseDatabase {
    void operator()(sqlite3* db) const;
  };
  explicit Query(sqlite3* db) : db_(db) {}

  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

}  // namespace attune::store
