#pragma once
/// A row of a thread's counts.

#include <string_view>

#include "counter/thread_counting.h"

namespace attune::cli {

/// A thread's counts as they are told.
struct ThreadRow {
  /// Why there is a row.
  enum class Kind : uint8_t {
    kExit,       ///< it ended
    kTick,       ///< a time has passed, or the counting ended; it lives
    kEbs,        ///< an event has occurred as often as its period says (event-based sampling); it lives
    kMigration,  ///< it moved to another CPU
    kSelf,       ///< it took a sample of itself
    kRest        ///< no thread: those that were too short-lived to be seen
  };
  Kind kind = Kind::kExit;
  double seconds = 0;  ///< since the counting began
  double lived_s = 0;  ///< while it counted: since its start, or since its row before
  int core_type = 0;   ///< of the CPU that it was on last: 0 is the most capable (counter::CoreTypes)
  counter::ThreadCounts thread;
};
std::string_view KindName(ThreadRow::Kind kind);

}  // namespace attune::cli
