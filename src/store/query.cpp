#include "store/query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "store/sql_rows.h"
#include "store/sql_tables.h"

namespace attune::store {
namespace {

/// SQLite asks after so many of its instructions whether to go on.
constexpr int kInstructionsBetweenChecks = 2000;

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

/// Queries come from a terminal or a page: they may read, and nothing else.
int AllowReading(void*, int action, const char*, const char* function, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      return function != nullptr && std::string_view(function) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_DENY;
  }
}

struct NamedColumns {
  std::string table;
  std::vector<std::string> columns;
};

/// "id INTEGER, name TEXT" to {"id", "name"}.
std::vector<std::string> ColumnNames(std::string_view declaration) {
  std::vector<std::string> names;
  while (!declaration.empty()) {
    const size_t comma = std::min(declaration.find(", "), declaration.size());
    const std::string_view column = declaration.substr(0, comma);
    names.emplace_back(column.substr(0, column.find(' ')));
    declaration.remove_prefix(std::min(comma + 2, declaration.size()));
  }
  return names;
}

std::vector<NamedColumns> AllNames() {
  std::vector<NamedColumns> names;
  for (const SqlTable& table : AllSqlTables()) names.push_back({table.name, ColumnNames(table.columns)});
  names.push_back({"samples_named", {"t_ns", "sensor", "signal", "element", "unit", "value"}});
  return names;
}

/// The name at the end of "no such table: sampels" or "no such column: s.valu".
std::string NameIn(std::string_view message) {
  std::string_view name = message.substr(message.rfind(' ') + 1);
  name.remove_prefix(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  return std::string(name);
}

std::string HintFor(std::string_view message, std::string_view sql) {
  const std::vector<NamedColumns> names = AllNames();
  if (message.starts_with("no such table")) {
    std::vector<std::string> tables;
    for (const NamedColumns& table : names) tables.push_back(table.table);
    const std::string near = DidYouMean(NameIn(message), tables);
    return fmt::format("{}{}the tables are: {}", near, near.empty() ? "" : " ", fmt::join(tables, ", "));
  }
  if (!message.starts_with("no such column")) return "";
  std::vector<std::string> columns;
  std::string lists;
  for (const NamedColumns& table : names) {
    if (sql.find(table.table) == std::string_view::npos) continue;
    columns.insert(columns.end(), table.columns.begin(), table.columns.end());
    lists += fmt::format("{}{} has {}", lists.empty() ? "" : "; ", table.table, fmt::join(table.columns, ", "));
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  const std::string near = DidYouMean(NameIn(message), columns);
  return fmt::format("{}{}{}", near, near.empty() ? "" : " ", lists);
}

Error SqlError(sqlite3* db, std::string_view sql) {
  const std::string message = sqlite3_errmsg(db);
  const int code = sqlite3_errcode(db);
  if (code == SQLITE_INTERRUPT) {
    return {Errc::kTimeout, "query: it took longer than its time limit", "narrow it with series and t_ns"};
  }
  // SQLite refuses some of it by itself, before it asks the authorizer, and says so in words only.
  const bool refused =
      message.find("may not be modified") != std::string::npos || message.find("not authorized") != std::string::npos;
  if (code == SQLITE_AUTH || refused) {
    return {Errc::kPermission, "query: only statements that read are allowed", "use one SELECT"};
  }
  const int offset = sqlite3_error_offset(db);
  const std::string place = offset >= 0 ? fmt::format(" at character {} of the query", offset + 1) : "";
  return {Errc::kInvalidArgument, fmt::format("query: {}{}", message, place), HintFor(message, sql)};
}

Result<Statement> Prepare(sqlite3* db, std::string_view sql) {
  sqlite3_stmt* prepared = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &prepared, &tail);
  Statement statement(prepared);
  if (code != SQLITE_OK) return SqlError(db, sql);
  if (statement == nullptr) return Error{Errc::kInvalidArgument, "query: it is empty", "give one SELECT statement"};
  const std::string_view rest = sql.substr(static_cast<size_t>(tail - sql.data()));
  if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("query: a second statement begins at character {}", tail - sql.data() + 1),
                 "give one statement at a time"};
  }
  return statement;
}

QueryValue ValueOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_NULL: return {};
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string_view(text == nullptr ? "" : text,
                              static_cast<size_t>(sqlite3_column_bytes(statement, column)));
    }
  }
}

}  // namespace

void Query::CloseDatabase::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Result<Query> Query::Open(model::Source& source, AccountReader account) {
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Query query(db);
  if (opened != SQLITE_OK) return Error{Errc::kInternal, "query: SQLite cannot be opened", ""};
  auto context = std::make_shared<SqlContext>();
  context->account = std::move(account);
  context->source = std::shared_ptr<model::Source>(std::shared_ptr<void>(), &source);  // not owned
  if (RegisterSqlTables(db, context) != SQLITE_OK || CreateSqlViews(db) != SQLITE_OK) {
    return Error{Errc::kInternal, fmt::format("query: {}", sqlite3_errmsg(db)), ""};
  }
  // A table is declared when it is first named, which the authorizer would take for an attempt to make one.
  for (const NamedColumns& table : AllNames()) {
    ATTUNE_TRY([[maybe_unused]] const Statement declared, Prepare(db, fmt::format("SELECT 1 FROM {}", table.table)));
  }
  sqlite3_set_authorizer(db, AllowReading, nullptr);
  return query;
}

Result<QuerySummary> Query::Run(std::string_view sql, const QueryVisitor& visitor, const QueryLimits& limits) {
  int64_t deadline_ns = limits.time_ns > 0 ? MonotonicNs() + limits.time_ns : INT64_MAX;
  sqlite3_progress_handler(
      db_.get(), kInstructionsBetweenChecks,
      [](void* deadline) { return MonotonicNs() > *static_cast<int64_t*>(deadline) ? 1 : 0; }, &deadline_ns);
  struct RemoveHandler {
    sqlite3* db;
    ~RemoveHandler() { sqlite3_progress_handler(db, 0, nullptr, nullptr); }
  } const remove_handler{db_.get()};

  ATTUNE_TRY(const Statement statement, Prepare(db_.get(), sql));
  const int columns = sqlite3_column_count(statement.get());
  if (visitor.on_columns) {
    std::vector<std::string> names;
    for (int i = 0; i < columns; ++i) names.emplace_back(sqlite3_column_name(statement.get(), i));
    visitor.on_columns(names);
  }
  QuerySummary summary;
  std::vector<QueryValue> values(static_cast<size_t>(columns));
  while (true) {
    const int code = sqlite3_step(statement.get());
    if (code == SQLITE_DONE) return summary;
    if (code != SQLITE_ROW) return SqlError(db_.get(), sql);
    if (limits.max_rows > 0 && summary.rows == limits.max_rows) break;
    for (int i = 0; i < columns; ++i) values[static_cast<size_t>(i)] = ValueOf(statement.get(), i);
    ++summary.rows;
    if (visitor.on_row && !visitor.on_row(values)) break;
  }
  summary.complete = false;
  return summary;
}

}  // namespace attune::store
