#include "store/sql_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "store/sql_rows.h"

namespace attune::store {
namespace {

/// Context that SQLite hands back to us for each table of a connection.
struct Module {
  SqlTable table;
  std::shared_ptr<SqlContext> context;
};

struct VirtualTable : sqlite3_vtab {
  VirtualTable(const SqlTable* its_table, std::shared_ptr<SqlContext> its_context)
      : sqlite3_vtab{}, table(its_table), context(std::move(its_context)) {}

  void SetError(const std::string& message) {
    sqlite3_free(zErrMsg);
    zErrMsg = sqlite3_mprintf("%s", message.c_str());
  }

  const SqlTable* table;
  std::shared_ptr<SqlContext> context;
};

struct Cursor : sqlite3_vtab_cursor {
  Cursor() : sqlite3_vtab_cursor{} {}

  std::unique_ptr<SqlRows> rows;
  bool at_end = true;
  int64_t row_id = 0;
};

int Connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** result, char**) {
  const auto* module = static_cast<const Module*>(aux);
  const std::string declaration = fmt::format("CREATE TABLE x({})", module->table.columns);
  if (const int code = sqlite3_declare_vtab(db, declaration.c_str()); code != SQLITE_OK) return code;
  *result = new VirtualTable(&module->table, module->context);
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

/// How a constraint reaches Filter: a letter for each argument. 'k' is the key; '=', '>', 'G', '<' and 'L' (greater or
/// equal, less or equal) compare the time.
char LetterFor(const SqlTable& table, const sqlite3_index_info::sqlite3_index_constraint& constraint) {
  if (constraint.usable == 0) return 0;
  if (constraint.iColumn == table.key_column && constraint.op == SQLITE_INDEX_CONSTRAINT_EQ) return 'k';
  if (table.time_column < 0 || constraint.iColumn != table.time_column) return 0;
  switch (constraint.op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
    case SQLITE_INDEX_CONSTRAINT_GT: return '>';
    case SQLITE_INDEX_CONSTRAINT_GE: return 'G';
    case SQLITE_INDEX_CONSTRAINT_LT: return '<';
    case SQLITE_INDEX_CONSTRAINT_LE: return 'L';
    default: return 0;
  }
}

int BestIndex(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  const SqlTable& table = *static_cast<VirtualTable*>(vtab)->table;
  std::string plan;
  double rows = table.is_large ? 1e9 : 1e3;
  for (int i = 0; i < info->nConstraint; ++i) {
    const char letter = LetterFor(table, info->aConstraint[i]);
    if (letter == 0) continue;
    plan += letter;
    info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size());
    info->aConstraintUsage[i].omit = 1;  // Narrow is exact: SQLite need not fetch and compare the columns of each row
    if (letter == 'k') rows = table.key_is_unique ? 1 : rows / 1000;
    if (letter != 'k') rows /= letter == '=' ? 1e4 : 4;
    if (letter == 'k' && table.key_is_unique) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  }
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, rows));
  info->estimatedCost = rows * 2 + 10;
  const bool by_time = info->nOrderBy == 1 && info->aOrderBy[0].iColumn == table.time_column &&
                       info->aOrderBy[0].desc == 0 && table.time_column >= 0;
  info->orderByConsumed = by_time ? 1 : 0;
  return SQLITE_OK;
}

int Open(sqlite3_vtab*, sqlite3_vtab_cursor** result) {
  *result = new Cursor();
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

/// The smallest integer that is at least (above: more than) the number. One more than the largest is not needed: no
/// time is so late.
int64_t Least(sqlite3_value* number, bool above) {
  if (sqlite3_value_type(number) == SQLITE_INTEGER) {
    const int64_t value = sqlite3_value_int64(number);
    return above && value < INT64_MAX ? value + 1 : value;
  }
  constexpr double kLimit = 9.2233720368547e18;
  const double real = sqlite3_value_double(number);
  if (real >= kLimit) return INT64_MAX;
  if (real <= -kLimit) return INT64_MIN;
  const auto ceiling = static_cast<int64_t>(std::ceil(real));
  return above && static_cast<double>(ceiling) == real ? ceiling + 1 : ceiling;
}

/// Narrows by one argument to exactly the rows that fit; false: no row can. As SQLite compares an integer column: text
/// that is a number counts as one, other text and blobs are larger than all numbers.
bool Narrow(SqlConstraints& constraints, char letter, sqlite3_value* argument) {
  const int type = sqlite3_value_numeric_type(argument);
  if (type == SQLITE_NULL) return false;
  const bool is_upper = letter == '<' || letter == 'L';
  if (letter != 'k') constraints.time.t0_ns = std::max(constraints.time.t0_ns, model::kAbsent + 1);  // NULL never fits
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return is_upper;
  const int64_t least = Least(argument, false);
  const int64_t above = Least(argument, true);
  const bool is_integer = least != above;
  if (letter == 'k') {
    if (!is_integer || (constraints.key && *constraints.key != least)) return false;
    constraints.key = least;
    return true;
  }
  if (letter == '=' && !is_integer) return false;
  if (!is_upper) constraints.time.t0_ns = std::max(constraints.time.t0_ns, letter == '>' ? above : least);
  if (is_upper || letter == '=') {
    constraints.time.t1_ns = std::min(constraints.time.t1_ns, letter == '<' ? least : above);
  }
  return true;
}

int Step(Cursor& cursor) {
  Result<bool> more = cursor.rows->Next();
  if (!more) {
    static_cast<VirtualTable*>(cursor.pVtab)->SetError(more.error().message);
    return SQLITE_ERROR;
  }
  cursor.at_end = !*more;
  ++cursor.row_id;
  return SQLITE_OK;
}

int Filter(sqlite3_vtab_cursor* base, int, const char* plan, int count, sqlite3_value** arguments) {
  auto& cursor = *static_cast<Cursor*>(base);
  auto& vtab = *static_cast<VirtualTable*>(cursor.pVtab);
  cursor.rows.reset();
  cursor.at_end = true;
  cursor.row_id = 0;
  if (vtab.context->source == nullptr) {
    vtab.SetError("no recording is open: select attune_open('FILE.attune') first");
    return SQLITE_ERROR;
  }
  SqlConstraints constraints;
  for (int i = 0; i < count; ++i) {
    if (!Narrow(constraints, plan[i], arguments[i])) return SQLITE_OK;
  }
  cursor.rows = vtab.table->open(vtab.context->source, constraints);
  return Step(cursor);
}

int Next(sqlite3_vtab_cursor* cursor) { return Step(*static_cast<Cursor*>(cursor)); }
int Eof(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor)->at_end ? 1 : 0; }

int Column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
  const SqlRows& rows = *static_cast<Cursor*>(cursor)->rows;
  if (const int64_t* integers = rows.Integers(column); integers != nullptr) {
    const int64_t value = integers[rows.row()];
    if (value != model::kAbsent) sqlite3_result_int64(context, value);  // NULL is what it is without a result
    return SQLITE_OK;
  }
  const SqlCell cell = rows.Cell(column);
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    sqlite3_result_int64(context, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    sqlite3_result_double(context, *real);
  } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
    sqlite3_result_text64(context, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  } else {
    sqlite3_result_null(context);
  }
  return SQLITE_OK;
}

int RowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<Cursor*>(cursor)->row_id;
  return SQLITE_OK;
}

/// Without xCreate the tables are there by themselves ("eponymous") and nothing can be created with them.
const sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.xConnect = Connect;
  module.xBestIndex = BestIndex;
  module.xDisconnect = Disconnect;
  module.xOpen = Open;
  module.xClose = Close;
  module.xFilter = Filter;
  module.xNext = Next;
  module.xEof = Eof;
  module.xColumn = Column;
  module.xRowid = RowId;
  return module;
}();

/// attune_scale(raw, scale) = raw * 10^scale
void Scale(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return sqlite3_result_null(context);
  const int scale = sqlite3_value_int(arguments[1]);
  if (scale == 0) return sqlite3_result_value(context, arguments[0]);
  const double raw = sqlite3_value_double(arguments[0]);
  // Dividing by a power of ten, which is exact, gives 0.1 and not 0.1000000000000001.
  sqlite3_result_double(context, scale < 0 ? raw / std::pow(10.0, -scale) : raw * std::pow(10.0, scale));
}

}  // namespace

int RegisterSqlTables(sqlite3* db, const std::shared_ptr<SqlContext>& context) {
  std::vector<SqlTable> tables = AllSqlTables(context->account);
  for (SqlTable& table : tables) {
    const std::string name = table.name;
    const int code = sqlite3_create_module_v2(db, name.c_str(), &kModule, new Module{std::move(table), context},
                                              [](void* module) { delete static_cast<Module*>(module); });
    if (code != SQLITE_OK) return code;
  }
  return sqlite3_create_function_v2(db, "attune_scale", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, Scale, nullptr,
                                    nullptr, nullptr);
}

int CreateSqlViews(sqlite3* db) {
  // CROSS JOIN keeps SQLite from reading all samples first: the series is chosen, then its samples are read.
  return sqlite3_exec(
      db,
      "CREATE TEMP VIEW IF NOT EXISTS samples_named AS SELECT samples.t_ns AS t_ns, series.sensor AS "
      "sensor, series.signal AS signal, elements.name AS element, series.unit AS unit, "
      "attune_scale(samples.value, series.scale) AS value FROM series LEFT JOIN elements ON elements.id "
      "= series.element CROSS JOIN samples ON samples.series = series.id",
      nullptr, nullptr, nullptr);
}

}  // namespace attune::store
