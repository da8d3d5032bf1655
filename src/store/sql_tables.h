#pragma once
/// The tables that SQL sees, as virtual tables of SQLite over a Source. The same code serves `attune query` and the
/// loadable extension, which calls SQLite through the table of functions that its host hands to it.

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

namespace attune::store {

/// What the tables of one connection read. Without a source they say how to open one.
struct SqlContext {
  std::shared_ptr<model::Source> source;
};

/// Makes the tables and the function attune_scale known to a connection. @return an SQLite result code
int RegisterSqlTables(sqlite3* db, const std::shared_ptr<SqlContext>& context);
/// The view samples_named. It can be made once the tables are there. @return an SQLite result code
int CreateSqlViews(sqlite3* db);

}  // namespace attune::store
