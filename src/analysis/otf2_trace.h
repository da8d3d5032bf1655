#pragma once
/// A recording as an OTF2 archive, which Vampir, Scalasca's tools and otf2-print read. What is where: docs/export.md.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct Otf2Counts {
  uint64_t acquired = 0;
  uint64_t released = 0;
  uint64_t entered = 0;    ///< waits and regions
  uint64_t locations = 0;  ///< threads with anything in them
};

/// Writes FOLDER/traces.otf2 and what belongs to it: acquisitions and releases of locks (level trace), waits and the
/// program's regions. @param folder is made; it must not exist (kExists), nor may its parent be missing
/// @cost 32 bytes of memory an event
Result<Otf2Counts> WriteOtf2(model::Source& source, const std::string& folder);

}  // namespace attune::analysis
