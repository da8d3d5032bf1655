#pragma once
/// Walks the frames of a file that may be damaged.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/frame_file.h"
#include "wire/frame.h"

namespace attune::store {

struct ScanVisitor {
  /// @param frame header and payload, checked; empty if `wants_bytes` returned false
  std::function<void(const wire::FrameHeader& header, uint64_t offset, std::string_view frame)> on_frame;
  /// Bytes between two whole frames that are no frame.
  std::function<void(uint64_t offset, uint64_t bytes)> on_damage;
  std::function<bool(const wire::FrameHeader& header)> wants_bytes;
};

/// Visits all whole frames from `from` up to `size`, in order; after damage it continues at the next whole frame.
/// @param verify check the checksum of every frame; else only of requested frames and of those before damage
/// @return the offset after the last whole frame; bytes after it are no frame, or not a whole one yet
uint64_t ScanFrames(const FrameFile& file, uint64_t from, uint64_t size, bool verify, const ScanVisitor& visitor);

}  // namespace attune::store
