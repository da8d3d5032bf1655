#include "store/log_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/codec.h"
#include "store/lod_view.h"
#include "store/read_ahead.h"

namespace attune::store {
namespace {

using model::BatchPtr;
using model::Table;
using model::TimeRange;

constexpr size_t kEventColumns = 7;
/// Blocks of which more columns are read are not kept: they would push out what is looked at again and again. A page
/// with some hundred series has four columns of buckets for each of them.
constexpr size_t kMaxKeptColumns = 64;
constexpr size_t kMaxKeptBucketColumns = 1024;

bool Overlaps(const model::Batch& batch, TimeRange range) {
  const auto [first, last] = model::TimeExtent(batch);
  return batch.rows > 0 && first < range.t1_ns && last >= range.t0_ns;
}

/// The rows of a block whose time is in the range. Most blocks are wholly inside and are handed on as they are.
class RowsInRange {
 public:
  /// @param columns the first one is the time
  RowsInRange(std::span<const std::span<const int64_t>> columns, TimeRange range) {
    const std::span<const int64_t> times = columns[0];
    if (!std::ranges::is_sorted(times)) {
      const bool are_inside =
          std::ranges::all_of(times, [range](int64_t t_ns) { return t_ns >= range.t0_ns && t_ns < range.t1_ns; });
      if (are_inside) {
        result_.assign(columns.begin(), columns.end());
      } else {
        Pick(columns, range);
      }
      return;
    }
    const auto begin = std::lower_bound(times.begin(), times.end(), range.t0_ns);
    const auto end = std::lower_bound(begin, times.end(), range.t1_ns);
    const auto first = static_cast<size_t>(begin - times.begin());
    for (const auto& column : columns) result_.push_back(column.subspan(first, static_cast<size_t>(end - begin)));
  }

  bool empty() const { return result_[0].empty(); }
  std::span<const int64_t> operator[](size_t column) const { return result_[column]; }

 private:
  void Pick(std::span<const std::span<const int64_t>> columns, TimeRange range) {
    for (const auto& column : columns) {
      std::vector<int64_t>& picked = picked_.emplace_back();
      for (size_t row = 0; row < column.size(); ++row) {
        if (columns[0][row] >= range.t0_ns && columns[0][row] < range.t1_ns) picked.push_back(column[row]);
      }
    }
    for (const auto& picked : picked_) result_.emplace_back(picked);
  }

  std::vector<std::span<const int64_t>> result_;
  std::vector<std::vector<int64_t>> picked_;
};

}  // namespace

std::string DescribeLostTime(TimeRange lost, TimeRange extent) {
  const auto seconds = [&](int64_t t_ns) { return static_cast<double>(t_ns - extent.t0_ns) * 1e-9; };
  return fmt::format("{:.3f} s to {:.3f} s after the start of the recording", seconds(lost.t0_ns), seconds(lost.t1_ns));
}

void LogSource::NewsLocked() {
  ++state_.version;
  news_.NotifyAll();
}

StreamRows LogSource::TakeLocked(FrameKey key, TimeRange range, bool and_before) const {
  StreamRows rows{key.first, state_.file, {}, {}};
  const FrameRef* before = nullptr;
  for (const FrameRef& ref : state_.index.Frames(key)) {
    if (ref.Overlaps(range)) {
      if (and_before && rows.frames.empty() && before != nullptr) rows.frames.push_back(*before);
      rows.frames.push_back(ref);
    } else if (ref.last_ns < range.t0_ns) {
      before = &ref;
    }
  }
  const BatchPtr* batch_before = nullptr;
  if (const auto pending = state_.pending.find(key); pending != state_.pending.end()) {
    for (const BatchPtr& batch : pending->second) {
      if (Overlaps(*batch, range)) {
        if (and_before && rows.pending.empty() && batch_before != nullptr) rows.pending.push_back(*batch_before);
        rows.pending.push_back(batch);
      } else {
        batch_before = &batch;
      }
    }
  }
  if (and_before && rows.frames.empty() && !rows.pending.empty() && before != nullptr) rows.frames.push_back(*before);
  return rows;
}

void LogSource::NoteDamage(const FrameFile& file, const FrameRef& ref, const Error& error) {
  const MutexLock lock(mutex_);
  if (state_.file == nullptr || state_.file->id() != file.id() || !state_.damaged.insert(ref.offset).second) return;
  const TimeRange lost{ref.first_ns, ref.last_ns};
  state_.metadata.AddDamage(fmt::format("{} bytes at offset {}: {}; {} rows are lost, {}", ref.bytes, ref.offset,
                                        error.message, ref.rows, DescribeLostTime(lost, state_.extent)));
  state_.metadata.AddGap({0, ref.first_ns, ref.last_ns, ref.rows, model::GapReason::kDamaged});
  NewsLocked();
}

void LogSource::VisitBlocks(const StreamRows& rows, std::span<const uint32_t> columns, const BlockVisitor& visit) {
  std::vector<std::span<const int64_t>> spans(columns.size());
  const bool keeps = columns.size() <= (rows.table == model::LodRow::kTable ? kMaxKeptBucketColumns : kMaxKeptColumns);
  ReadAhead<std::vector<model::DecodedColumn>> blocks(
      rows.frames, columns.size(), [&](const FrameRef& ref) { return cache_.Get(*rows.file, ref, columns, keeps); });
  for (const FrameRef& ref : rows.frames) {
    const auto block = blocks.Next();
    if (!block) {
      NoteDamage(*rows.file, ref, block.error());
      continue;
    }
    for (size_t i = 0; i < columns.size(); ++i) spans[i] = (*block)[i].span();
    if (!visit(spans)) return;
  }
  std::vector<int64_t> absent;
  for (const BatchPtr& batch : rows.pending) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < batch->ints.size()) {
        spans[i] = batch->ints[columns[i]];
      } else {
        absent.assign(batch->rows, model::kAbsent);
        spans[i] = absent;
      }
    }
    if (!visit(spans)) return;
  }
}

std::shared_ptr<const model::Metadata> LogSource::Meta() {
  Refresh();
  const MutexLock lock(mutex_);
  return state_.metadata.Snapshot();
}

TimeRange LogSource::Extent() {
  Refresh();
  const MutexLock lock(mutex_);
  return state_.extent;
}

Status LogSource::ReadSamples(model::StreamId stream, std::span<const uint32_t> columns, TimeRange range,
                              const model::SampleVisitor& visit) {
  Refresh();
  StreamRows rows;
  {
    const MutexLock lock(mutex_);
    rows = TakeLocked({model::Sample::kTable, stream}, range, false);
  }
  std::vector<uint32_t> wanted{0};
  for (const uint32_t column : columns) wanted.push_back(column + 1);
  std::vector<std::vector<int64_t>> values(columns.size());
  VisitBlocks(rows, wanted, [&](std::span<const std::span<const int64_t>> block) {
    const RowsInRange inside(block, range);
    if (inside.empty()) return true;
    for (size_t i = 0; i < values.size(); ++i) values[i].assign(inside[i + 1].begin(), inside[i + 1].end());
    return visit({inside[0], values});
  });
  return {};
}

Status LogSource::ReadEvents(TimeRange range, const model::EventVisitor& visit) {
  Refresh();
  std::vector<StreamRows> streams;
  {
    const MutexLock lock(mutex_);
    std::set<model::StreamId> ids;
    for (const model::StreamId id : state_.index.Streams(model::Event::kTable)) ids.insert(id);
    for (const auto& [key, batches] : state_.pending) {
      if (key.first == model::Event::kTable) ids.insert(key.second);
    }
    for (const model::StreamId id : ids) streams.push_back(TakeLocked({model::Event::kTable, id}, range, false));
  }
  std::array<uint32_t, kEventColumns> wanted{};
  for (uint32_t i = 0; i < kEventColumns; ++i) wanted[i] = i;
  bool go_on = true;
  for (const StreamRows& rows : streams) {
    VisitBlocks(rows, wanted, [&](std::span<const std::span<const int64_t>> block) {
      const RowsInRange inside(block, range);
      if (inside.empty()) return true;
      go_on = visit({inside[0], inside[1], inside[2], inside[3], inside[4], inside[5], inside[6]});
      return go_on;
    });
    if (!go_on) break;
  }
  return {};
}

Status LogSource::ReadTable(Table table, const std::function<bool(const model::Batch&)>& visit) {
  return ReadFrames(table, nullptr, visit);
}

Status LogSource::ReadTableWithin(Table table, TimeRange range, const std::function<bool(const model::Batch&)>& visit) {
  return ReadFrames(table, &range, visit);
}

Status LogSource::ReadFrames(Table table, const TimeRange* range,
                             const std::function<bool(const model::Batch&)>& visit) {
  Refresh();
  std::shared_ptr<const FrameFile> file;
  std::vector<FrameRef> frames;
  std::vector<BatchPtr> pending;
  {
    const MutexLock lock(mutex_);
    file = state_.file;
    for (const model::StreamId id : state_.index.Streams(table)) {
      const auto refs = state_.index.Frames({table, id});
      std::ranges::copy_if(refs, std::back_inserter(frames),
                           [range](const FrameRef& ref) { return range == nullptr || ref.Overlaps(*range); });
    }
    for (const auto& [key, batches] : state_.pending) {
      if (key.first != table) continue;
      std::ranges::copy_if(batches, std::back_inserter(pending),
                           [range](const BatchPtr& batch) { return range == nullptr || Overlaps(*batch, *range); });
    }
  }
  std::sort(frames.begin(), frames.end(), [](const FrameRef& a, const FrameRef& b) { return a.offset < b.offset; });
  constexpr size_t kColumns = 10;  // of most tables, about
  ReadAhead<model::Batch> batches(frames, kColumns, [&](const FrameRef& ref) -> Result<model::Batch> {
    ATTUNE_TRY(const std::string bytes, file->Read(ref.offset, ref.bytes));
    return model::DecodeFrame(bytes);
  });
  for (const FrameRef& ref : frames) {
    const auto batch = batches.Next();
    if (!batch) {
      NoteDamage(*file, ref, batch.error());
    } else if (!visit(*batch)) {
      return {};
    }
  }
  for (const BatchPtr& batch : pending) {
    if (!visit(*batch)) return {};
  }
  return {};
}

Result<std::vector<model::SeriesView>> LogSource::View(const model::ViewRequest& request) {
  if (request.pixels == 0) return Error{Errc::kInvalidArgument, "a view needs at least 1 pixel", ""};
  const std::shared_ptr<const model::Metadata> metadata = Meta();
  for (const model::SeriesId id : request.series) {
    if (metadata->FindSeries(id) == nullptr) {
      return Error{Errc::kNotFound, fmt::format("there is no series {}", id), "the table `series` lists them"};
    }
  }
  std::vector<model::SeriesView> empty(request.series.size());
  for (size_t i = 0; i < empty.size(); ++i) empty[i] = {request.series[i], true, {}, {}, {}, {}, {}};
  if (request.range.t0_ns >= request.range.t1_ns) return empty;

  std::vector<ViewStream> streams;
  {
    const MutexLock lock(mutex_);
    for (const model::Stream& stream : metadata->streams) {
      ViewStream part;
      for (uint32_t column = 0; column < stream.series.size(); ++column) {
        for (size_t view = 0; view < request.series.size(); ++view) {
          if (stream.series[column] != request.series[view]) continue;
          const model::Series& series = *metadata->FindSeries(request.series[view]);
          part.columns.push_back(
              {column, view, series.kind == model::SeriesKind::kCounter, series.Factor(), series.max_per_second});
        }
      }
      if (part.columns.empty()) continue;
      const FrameKey key{model::Sample::kTable, stream.id};
      part.samples = TakeLocked(key, request.range, true);
      for (size_t level = 0; level < kLodLevels; ++level) {
        part.lod[level] = TakeLocked({model::LodRow::kTable, LodStream(stream.id, level)}, request.range, false);
      }
      const auto frames = state_.index.Frames(key);
      part.first_ns = frames.empty() ? INT64_MAX : frames.front().first_ns;
      streams.push_back(std::move(part));
    }
  }
  ViewBuilder builder(
      request.series, request.range, request.pixels,
      [this](const StreamRows& rows, std::span<const uint32_t> columns, const BlockVisitor& visit) {
        VisitBlocks(rows, columns, visit);
      },
      fine_);
  return builder.Build(streams);
}

uint64_t LogSource::Version() {
  Refresh();
  const MutexLock lock(mutex_);
  return state_.version;
}

bool LogSource::WaitForNews(uint64_t seen, std::chrono::milliseconds limit) {
  MutexLock lock(mutex_);
  news_.WaitFor(lock, limit, [&]() ATTUNE_REQUIRES(mutex_) { return state_.version > seen || !state_.growing; });
  return state_.version > seen;
}

bool LogSource::Growing() {
  Refresh();
  const MutexLock lock(mutex_);
  return state_.growing;
}

}  // namespace attune::store
