#pragma once
/// Virtual tables of SQLite over a Source. The same code serves `attune query` and the loadable extension, which calls
/// SQLite through the function table of its host.

#if defined(ATTUNE_SQLITE_EXTENSION)
#include <sqlite3ext.h>
extern "C" {
SQLITE_EXTENSION_INIT3
}
#else
#include <sqlite3.h>
#endif

#include <memory>

#include "model/source.h"
#include "store/account_row.h"

namespace attune::store {

/// The source of one connection's tables. Without a source, they fail with a message how to open one.
struct SqlContext {
  std::shared_ptr<model::Source> source;
  AccountReader account;  ///< set before the tables are registered
};

/// Registers the tables and the function attune_scale with a connection. @return an SQLite result code
int RegisterSqlTables(sqlite3* db, const std::shared_ptr<SqlContext>& context);
/// Creates the view samples_named, after RegisterSqlTables(). @return an SQLite result code
int CreateSqlViews(sqlite3* db);

}  // namespace attune::store
