#pragma once
/// Rows of a stream as the store holds them: frames of a file, then batches that are still in memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/batch.h"
#include "store/frame_file.h"
#include "store/frame_index.h"

namespace attune::store {

/// Frames and pending rows of one stream, held so that they stay readable whatever the writer does meanwhile.
struct StreamRows {
  std::shared_ptr<const FrameFile> file;
  std::vector<FrameRef> frames;
  std::vector<model::BatchPtr> pending;
};

/// Sees the wanted columns of one block of rows, in the order wanted. Returns false to stop.
using BlockVisitor = std::function<bool(std::span<const std::span<const int64_t>> columns)>;

}  // namespace attune::store
