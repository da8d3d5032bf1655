#pragma once
/// Opens recordings, also growing, unfinished, truncated and damaged ones.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::store {

struct OpenOptions {
  /// Files up to this size are checked byte by byte when they are opened. For larger closed files, the index is trusted
  /// and each frame is checked when it is read.
  uint64_t verify_bytes = 256u << 20;
};

/// Opens a recording with all readable frames; Metadata::damage lists the others. Errors: kNotFound, kPermission,
/// kInvalidArgument (a folder), kCorrupt (no whole frame). @cost 0.2 s a GB of a file in the page cache
Result<std::unique_ptr<model::Source>> OpenRecording(const std::string& path, const OpenOptions& options = {});

}  // namespace attune::store
