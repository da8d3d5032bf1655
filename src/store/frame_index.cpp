#include "store/frame_index.h"

#include <algorithm>
#include <array>
#include <string>

namespace attune::store {
namespace {

constexpr size_t kIndexColumns = 8;

}  // namespace

FrameRef RefOf(const wire::FrameHeader& header, uint64_t offset) {
  return {offset,         static_cast<uint32_t>(sizeof header + header.payload_bytes),
          header.rows,    header.first_ns,
          header.last_ns, header.sequence};
}

void Widen(model::TimeRange& extent, int64_t first_ns, int64_t last_ns) {
  const int64_t end_ns = last_ns == INT64_MAX ? last_ns : last_ns + 1;
  if (extent.t0_ns == 0 && extent.t1_ns == 0) {
    extent = {first_ns, end_ns};
  } else {
    extent = {std::min(extent.t0_ns, first_ns), std::max(extent.t1_ns, end_ns)};
  }
}

void FrameIndex::Add(FrameKey key, const FrameRef& ref) {
  std::vector<FrameRef>& refs = frames_[key];
  // Tens of frames come each second, for days: growth to the double would take half of the memory for nothing.
  if (refs.size() == refs.capacity()) refs.reserve(refs.size() + std::max<size_t>(16, refs.size() / 8));
  refs.push_back(ref);
  if (model::IsTimed(key.first) && ref.rows > 0) Widen(extent_, ref.first_ns, ref.last_ns);
}

std::span<const FrameRef> FrameIndex::Frames(FrameKey key) const {
  const auto found = frames_.find(key);
  return found == frames_.end() ? std::span<const FrameRef>() : found->second;
}

std::vector<model::StreamId> FrameIndex::Streams(model::Table table) const {
  std::vector<model::StreamId> streams;
  for (auto it = frames_.lower_bound({table, 0}); it != frames_.end() && it->first.first == table; ++it) {
    streams.push_back(it->first.second);
  }
  return streams;
}

std::vector<IndexedFrame> FrameIndex::All() const {
  std::vector<IndexedFrame> all;
  for (const auto& [key, refs] : frames_) {
    for (const FrameRef& ref : refs) all.push_back({key, ref});
  }
  std::sort(all.begin(), all.end(),
            [](const IndexedFrame& a, const IndexedFrame& b) { return a.ref.offset < b.ref.offset; });
  return all;
}

model::Batch IndexBatch(std::span<const IndexedFrame> frames) {
  model::Batch batch;
  batch.table = model::IndexRow::kTable;
  batch.rows = frames.size();
  batch.ints.resize(kIndexColumns);
  for (const auto& [key, ref] : frames) {
    const std::array<int64_t, kIndexColumns> row{static_cast<int64_t>(key.first),
                                                 key.second,
                                                 static_cast<int64_t>(ref.offset),
                                                 ref.bytes,
                                                 ref.rows,
                                                 ref.first_ns,
                                                 ref.last_ns,
                                                 static_cast<int64_t>(ref.sequence)};
    for (size_t column = 0; column < kIndexColumns; ++column) batch.ints[column].push_back(row[column]);
  }
  return batch;
}

std::vector<IndexedFrame> FramesFromIndex(const model::Batch& batch, uint64_t file_bytes) {
  std::vector<IndexedFrame> frames;
  if (batch.ints.size() < kIndexColumns) return frames;
  for (size_t row = 0; row < batch.rows; ++row) {
    const auto cell = [&](size_t column) { return batch.ints[column][row]; };
    const bool possible = cell(0) > 0 && cell(0) <= UINT16_MAX && cell(1) >= 0 && cell(1) <= UINT32_MAX &&
                          cell(2) >= 0 && static_cast<uint64_t>(cell(2)) <= file_bytes &&
                          cell(3) >= static_cast<int64_t>(sizeof(wire::FrameHeader)) && cell(3) <= UINT32_MAX &&
                          static_cast<uint64_t>(cell(3)) <= file_bytes - static_cast<uint64_t>(cell(2)) &&
                          cell(4) >= 0 && cell(4) <= wire::kMaxRows;
    if (!possible) continue;
    frames.push_back({{static_cast<model::Table>(cell(0)), static_cast<model::StreamId>(cell(1))},
                      {static_cast<uint64_t>(cell(2)), static_cast<uint32_t>(cell(3)), static_cast<uint32_t>(cell(4)),
                       cell(5), cell(6), static_cast<uint64_t>(cell(7))}});
  }
  return frames;
}

model::Batch FormatBatch() {
  const std::pair<std::string, std::string> format{"format", "attune recording, version 0"};
  return model::InfoBatch({&format, 1});
}

model::Batch FooterBatch(const FrameRef& last_index) {
  model::Batch batch;
  batch.table = model::FooterRow::kTable;
  batch.rows = 1;
  batch.ints = {{static_cast<int64_t>(last_index.offset)}, {last_index.bytes}};
  return batch;
}

}  // namespace attune::store
