#pragma once
/// Rows of a stream in the store: frames of a file, then batches in memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/batch.h"
#include "store/frame_file.h"
#include "store/frame_index.h"

namespace attune::store {

/// A snapshot of the frames and pending rows of one stream; stays readable while the writer goes on.
struct StreamRows {
  model::Table table{};
  std::shared_ptr<const FrameFile> file;
  std::vector<FrameRef> frames;
  std::vector<model::BatchPtr> pending;
};

/// Receives the wanted columns of one block of rows, in the wanted order. Returns false to stop.
using BlockVisitor = std::function<bool(std::span<const std::span<const int64_t>> columns)>;

}  // namespace attune::store
