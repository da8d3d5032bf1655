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
  /// @param frame its bytes, header and payload, checked; empty if `wants_bytes` did not ask for them
  std::function<void(const wire::FrameHeader& header, uint64_t offset, std::string_view frame)> on_frame;
  /// Bytes between two whole frames that are none.
  std::function<void(uint64_t offset, uint64_t bytes)> on_damage;
  std::function<bool(const wire::FrameHeader& header)> wants_bytes;
};

/// Visits all whole frames from `from` up to `size`, in order; after damage it goes on at the next whole frame.
/// @param verify check the checksum of every frame; else only of those that are asked for or stand before damage
/// @return the offset after the last whole frame; what comes after it is none, or not yet
uint64_t ScanFrames(const FrameFile& file, uint64_t from, uint64_t size, bool verify, const ScanVisitor& visitor);

}  // namespace attune::store
