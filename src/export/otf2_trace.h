#pragma once
/// A recording as an OTF2 archive, which Vampir, Scalasca's tools and otf2-print read. What is where: docs/export.md.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::exports {

struct Otf2Counts {
  uint64_t acquired = 0;
  uint64_t released = 0;
  uint64_t entered = 0;      ///< waits, regions, and calls of MPI
  uint64_t messages = 0;     ///< sent and received
  uint64_t collectives = 0;  ///< ranks' parts in collective operations
  uint64_t locations = 0;    ///< threads with anything in them
};

/// Writes FOLDER/traces.otf2 and what belongs to it: acquisitions and releases of locks (level trace), waits, the
/// program's regions, and messages. @param folder is made; it must not exist (kExists), nor may its parent be missing
/// @cost 32 bytes of memory an event, some 250 a message
Result<Otf2Counts> WriteOtf2(model::Source& source, const std::string& folder);

}  // namespace attune::exports
