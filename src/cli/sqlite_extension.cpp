/// attune_sqlite.so: the tables of a recording in any program that loads SQLite extensions.
///
///   sqlite3 :memory: ".load attune_sqlite" "select attune_open('x.attune')" "select * from processes"

#include <sqlite3ext.h>

extern "C" {
SQLITE_EXTENSION_INIT1
}

#include <string>

#include "cli/report/account_rows.h"
#include "store/recording.h"
#include "store/sql_tables.h"

namespace {

using attune::store::SqlContext;
using ContextPtr = std::shared_ptr<SqlContext>;

/// attune_open(path): the tables read this recording from now on. Gives the number of its losses.
void AttuneOpen(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto* path = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
  if (path == nullptr) return sqlite3_result_error(context, "attune_open: give the path of a recording", -1);
  auto source = attune::store::OpenRecording(path);
  if (!source) {
    std::string message = source.error().message;
    if (!source.error().hint.empty()) message += " (" + source.error().hint + ")";
    return sqlite3_result_error(context, message.c_str(), -1);
  }
  const auto losses = (*source)->Meta()->damage.size();
  (*static_cast<ContextPtr*>(sqlite3_user_data(context)))->source = *std::move(source);
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(losses));
}

}  // namespace

/// The name that SQLite derives from attune_sqlite.so.
extern "C" __attribute__((visibility("default"))) int sqlite3_attunesqlite_init(sqlite3* db, char** error,
                                                                                const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  static_cast<void>(error);
  auto context = std::make_shared<SqlContext>();
  context->account = attune::cli::AccountRows;
  int code = attune::store::RegisterSqlTables(db, context);
  if (code == SQLITE_OK) code = attune::store::CreateSqlViews(db);
  if (code != SQLITE_OK) return code;
  return sqlite3_create_function_v2(db, "attune_open", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, new ContextPtr(context),
                                    AttuneOpen, nullptr, nullptr,
                                    [](void* user_data) { delete static_cast<ContextPtr*>(user_data); });
}
