#pragma once
/// Index of the frames of a recording. The writer indexes the frames that it wrote, a reader those that it found.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/schema.h"
#include "model/source.h"
#include "wire/frame.h"

namespace attune::store {

struct FrameRef {
  uint64_t offset = 0;  ///< header's offset in the file
  uint32_t bytes = 0;   ///< header and payload
  uint32_t rows = 0;
  int64_t first_ns = 0;  ///< smallest time of its rows
  int64_t last_ns = 0;   ///< largest
  uint64_t sequence = 0;

  bool Overlaps(model::TimeRange range) const { return first_ns < range.t1_ns && last_ns >= range.t0_ns; }
};
FrameRef RefOf(const wire::FrameHeader& header, uint64_t offset);

using FrameKey = std::pair<model::Table, model::StreamId>;

struct IndexedFrame {
  FrameKey key;
  FrameRef ref;
};

class FrameIndex {
 public:
  void Add(FrameKey key, const FrameRef& ref);

  /// In the order of the file.
  std::span<const FrameRef> Frames(FrameKey key) const;
  /// The streams of a table that have frames, ascending.
  std::vector<model::StreamId> Streams(model::Table table) const;
  /// All frames, in the order of the file.
  std::vector<IndexedFrame> All() const;
  /// From the first to just after the last sample or event; {0, 0} if there are none.
  model::TimeRange Extent() const { return extent_; }

 private:
  std::map<FrameKey, std::vector<FrameRef>> frames_;
  model::TimeRange extent_;
};

/// Widens `extent` by the rows from first_ns to last_ns; {0, 0} is an empty extent.
void Widen(model::TimeRange& extent, int64_t first_ns, int64_t last_ns);

// Index frames (model::IndexRow). Each lists the previous index frame as its first row, then all frames since. The
// footer names the last index frame, from which the chain leads to all frames.

model::Batch IndexBatch(std::span<const IndexedFrame> frames);
/// Invalid rows (a negative offset, a frame beyond `file_bytes`) are left out.
std::vector<IndexedFrame> FramesFromIndex(const model::Batch& batch, uint64_t file_bytes);

/// The first frame of every recording: info with the key "format".
model::Batch FormatBatch();
/// Number of frames between two index frames.
inline constexpr size_t kFramesPerIndex = 4096;

/// The footer (model::FooterRow), the last frame of a closed file.
model::Batch FooterBatch(const FrameRef& last_index);

}  // namespace attune::store
