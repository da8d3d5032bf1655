#pragma once
/// Settings of the traces that programs write at levels trace and stamped (wire/trace.h).

#include <cstdint>

#include "wire/trace.h"

namespace attune::session {

struct TraceChoice {
  uint64_t buffer_bytes = wire::kTraceUsualWords * sizeof(uint64_t);  ///< a thread's buffer, for its newest events
  bool streams = false;  ///< read all the time; else at a dump, and when the program ends
};

}  // namespace attune::session
