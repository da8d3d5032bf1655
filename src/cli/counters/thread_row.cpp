#include "cli/counters/thread_row.h"

namespace attune::cli {

std::string_view KindName(ThreadRow::Kind kind) {
  switch (kind) {
    case ThreadRow::Kind::kExit: return "exit";
    case ThreadRow::Kind::kTick: return "tick";
    case ThreadRow::Kind::kEbs: return "ebs";
    case ThreadRow::Kind::kMigration: return "migration";
    case ThreadRow::Kind::kSelf: return "self";
    case ThreadRow::Kind::kRest: return "rest";
  }
  return "";
}

}  // namespace attune::cli
