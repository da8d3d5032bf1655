#pragma once
/// Opens recordings: closed, still growing in another process, killed, cut short, damaged.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::store {

struct OpenOptions {
  /// Files up to this size are checked byte by byte when they are opened. Of larger ones that were closed, the index is
  /// believed and each frame is checked when it is read.
  uint64_t verify_bytes = 256u << 20;
};

/// Everything that can be read of the file is read; Metadata::damage names what cannot. Errors: kNotFound, kPermission,
/// kInvalidArgument (a folder), kCorrupt (not one whole frame in it). @cost 0.2 s a GB of a file that is in memory
Result<std::unique_ptr<model::Source>> OpenRecording(const std::string& path, const OpenOptions& options = {});

}  // namespace attune::store
