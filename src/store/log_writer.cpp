#include "store/log_writer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "model/codec.h"

namespace attune::store {
namespace {

using model::Batch;
using model::BatchPtr;
using model::Gap;
using model::GapReason;
using model::Table;

/// A frame ends at these sizes: large enough to compress well, small enough that one series is read without much else.
constexpr size_t kFrameRows = 64u << 10;
constexpr size_t kFrameCells = 1u << 20;
/// Level-of-detail frames wait for so many rows (fewer if they are wide): until then they can be computed anew.
constexpr size_t kLodFrameRows = 256;
constexpr size_t kLodFrameCells = 32u << 10;
/// Of columns decoded for readers: what several of them look at together. A reader that goes on reads what is new.
constexpr size_t kCacheBytes = 4u << 20;
/// In so much time what is published at once has come.
constexpr int64_t kBurstNs = 2'000'000;
/// Rows that wait for the disk; beyond it they are dropped and counted.
constexpr size_t kMaxPendingCells = 32u << 20;
/// Rows kept for readers after the disk was full.
constexpr size_t kMaxMemoryCells = 8u << 20;

size_t Cells(const Batch& batch) { return batch.rows * (batch.ints.size() + 4 * batch.texts.size()); }

bool SameColumns(const Batch& a, const Batch& b) {
  return a.ints.size() == b.ints.size() && a.texts.size() == b.texts.size();
}

/// Appends rows [first, end) of `from`.
void Append(Batch& to, const Batch& from, size_t first, size_t end) {
  const auto append = [&](auto& target, const auto& source) {
    target.resize(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      target[i].insert(target[i].end(), source[i].begin() + static_cast<ptrdiff_t>(first),
                       source[i].begin() + static_cast<ptrdiff_t>(end));
    }
  };
  to.table = from.table;
  to.stream = from.stream;
  append(to.ints, from.ints);
  append(to.texts, from.texts);
  to.rows += end - first;
}

size_t LodRowLimit(const Batch& batch) {
  return std::clamp<size_t>(kLodFrameCells / std::max<size_t>(1, batch.ints.size()), 1, kLodFrameRows);
}

}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::Create(LogOptions options) {
  if (options.max_bytes != 0 && options.max_bytes < kMinMaxBytes) {
    return Error{Errc::kInvalidArgument, fmt::format("{} bytes are too few for a recording", options.max_bytes),
                 "give --max-size at least 1MB"};
  }
  const std::string beginning = model::EncodeFrame(FormatBatch(), model::Compression::kZstd);
  ATTUNE_TRY(OutputFile output, OutputFile::Create(options.path, options.if_there, beginning));
  auto file = ReadableFile(output.fd(), output.path());
  if (!file.ok()) {
    output.Discard();
    return file.error();
  }
  std::unique_ptr<LogWriter> writer(new LogWriter(std::move(options), std::move(output), *std::move(file)));
  return writer;
}

LogWriter::LogWriter(LogOptions options, OutputFile output, std::shared_ptr<const FrameFile> file)
    : LogSource(kCacheBytes), options_(std::move(options)), output_(std::move(output)) {
  const Batch format = FormatBatch();
  const std::string beginning = model::EncodeFrame(format, model::Compression::kZstd);
  const FrameRef ref{0, static_cast<uint32_t>(beginning.size()), static_cast<uint32_t>(format.rows), 0, 0, 0};
  const FrameKey key{Table::kInfo, 0};
  state_.file = std::move(file);
  state_.index.Add(key, ref);
  state_.metadata.Apply(format);
  file_bytes_ = beginning.size();
  next_sequence_[key] = 1;
  unindexed_.push_back({key, ref});
  flusher_ = std::thread([this] { FlusherMain(); });
  pthread_setname_np(flusher_.native_handle(), "attune-log");
}

LogWriter::~LogWriter() { static_cast<void>(Close()); }

std::string LogWriter::path() {
  const std::lock_guard io_lock(io_mutex_);
  return output_.path();
}

Status LogWriter::TakePlace() {
  const std::lock_guard io_lock(io_mutex_);
  return output_.TakePlace();
}

void LogWriter::Discard() {
  const std::lock_guard io_lock(io_mutex_);
  discarded_ = true;
  output_.Discard();
}

void LogWriter::Consume(const BatchPtr& batch) {
  if (batch->rows == 0) return;
  const FrameKey key{batch->table, batch->stream};
  const size_t cells = Cells(*batch);
  std::unique_lock lock(mutex_);
  if (!state_.growing) return;
  state_.metadata.Apply(*batch);
  const auto [first_ns, last_ns] = model::TimeExtent(*batch);
  if (IsTimed(batch->table)) {
    if (!failure_) {
      AddLostLocked(GapReason::kDiskFull, first_ns, last_ns, batch->rows);
    } else if (pending_cells_ + cells > kMaxPendingCells) {
      AddLostLocked(GapReason::kDropped, first_ns, last_ns, batch->rows);
      NewsLocked();
      return;
    }
    Widen(state_.extent, first_ns, last_ns);
  }
  bool wakes = false;
  state_.pending[key].push_back(batch);
  pending_cells_ += cells;
  size_t& section_cells = section_cells_[key];
  section_cells += cells;
  if (!failure_) {
    TrimLocked(key);
  } else {
    const bool was_idle = oldest_pending_ns_ == 0;
    if (was_idle) oldest_pending_ns_ = MonotonicNs();
    section_full_ = section_full_ || section_cells >= kFrameCells;
    wakes = was_idle || section_full_;
  }
  NewsLocked();
  lock.unlock();  // or who wakes up would only wait for it
  if (wakes) wake_.notify_one();
}

/// After the disk was full: the oldest rows of the stream make room for its newest ones.
void LogWriter::TrimLocked(FrameKey key) {
  auto& batches = state_.pending[key];
  while (pending_cells_ > kMaxMemoryCells && !batches.empty()) PopPendingLocked(key);
}

void LogWriter::PopPendingLocked(FrameKey key) {
  auto& batches = state_.pending[key];
  const size_t cells = Cells(*batches.front());
  pending_cells_ -= cells;
  section_cells_[key] -= cells;
  batches.pop_front();
}

void LogWriter::AddLostLocked(GapReason reason, int64_t first_ns, int64_t last_ns, size_t rows) {
  lost_rows_ += rows;
  const auto [found, is_new] = lost_.try_emplace(reason, Gap{0, first_ns, last_ns, 0, reason});
  Gap& gap = found->second;
  gap.t0_ns = std::min(gap.t0_ns, first_ns);
  gap.t1_ns = std::max(gap.t1_ns, last_ns);
  gap.count += static_cast<int64_t>(rows);
  state_.metadata.SetOpenGap(gap);
}

void LogWriter::FlusherMain() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool idle = oldest_pending_ns_ == 0 || !failure_;
    // Rows that come rarely and many at once are written by one wake-up: it is not a time after the first of them.
    const int64_t due_ns = std::max(flushed_ns_ + options_.flush_ns, oldest_pending_ns_ + kBurstNs);
    const int64_t left_ns = idle ? 0 : due_ns - MonotonicNs();
    if (idle) {
      wake_.wait(lock);
    } else if (left_ns > 0 && !section_full_) {
      wake_.wait_for(lock, std::chrono::nanoseconds(left_ns));
    } else {
      lock.unlock();
      {
        const std::lock_guard io_lock(io_mutex_);
        WritePass(left_ns > 0 ? Pass::kFullSections : Pass::kRows);
      }
      lock.lock();
    }
  }
}

std::vector<LogWriter::Section> LogWriter::ChooseLocked(Pass pass) const {
  std::vector<Section> sections;
  for (const auto& [key, batches] : state_.pending) {
    if (batches.empty()) continue;
    bool wanted = true;
    if (key.first == Table::kLod && pass != Pass::kEverything) {
      const size_t rows = section_cells_.at(key) / std::max<size_t>(1, batches.front()->ints.size());
      wanted = rows >= LodRowLimit(*batches.front());
    } else if (pass == Pass::kFullSections) {
      wanted = section_cells_.at(key) >= kFrameCells;
    }
    if (wanted) sections.push_back({key, {batches.begin(), batches.end()}});
  }
  return sections;
}

void LogWriter::WritePass(Pass pass) {
  std::vector<Section> sections;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) return;
    sections = ChooseLocked(pass);
    section_full_ = false;
    if (pass != Pass::kFullSections) {
      oldest_pending_ns_ = 0;
      flushed_ns_ = MonotonicNs();
    }
  }
  if (sections.empty()) return;
  Group group;
  for (const Section& section : sections) Encode(section, group);
  Status status = MakeRoom(group);
  if (status) status = WriteGroup(group);
  if (!status) {
    Fail(status.error());
    return;
  }
  const std::lock_guard lock(mutex_);
  CommitLocked(group);
}

void LogWriter::Encode(const Section& section, Group& group) {
  group.taken[section.key] = section.batches.size();
  Batch frame;
  const auto finish = [&] {
    if (frame.rows > 0) AddFrame(std::move(frame), group);
    frame = {};
  };
  for (const BatchPtr& batch : section.batches) {
    if (frame.rows > 0 && !SameColumns(frame, *batch)) finish();
    frame.dropped_before += batch->dropped_before;
    const size_t columns = std::max<size_t>(1, batch->ints.size() + batch->texts.size());
    const size_t most_rows = std::clamp<size_t>(kFrameCells / columns, 1, kFrameRows);
    for (size_t row = 0; row < batch->rows;) {
      const size_t end = std::min(batch->rows, row + most_rows - std::min(frame.rows, most_rows - 1));
      Append(frame, *batch, row, end);
      row = end;
      if (frame.rows >= most_rows) finish();
    }
  }
  finish();
}

void LogWriter::AddFrame(Batch batch, Group& group) {
  if (batch.table == Table::kSamples) AddLod(batch, group);
  const FrameKey key{batch.table, batch.stream};
  batch.sequence = next_sequence_[key]++;
  const std::string bytes = model::EncodeFrame(batch, model::Compression::kZstd);
  const auto header = model::ParseHeader(bytes);
  if (!header) {  // more than a frame can hold: texts without bounds, or more columns than there may be
    const auto [first_ns, last_ns] = model::TimeExtent(batch);
    const std::lock_guard lock(mutex_);
    AddLostLocked(GapReason::kDropped, first_ns, last_ns, batch.rows);
    return;
  }
  group.frames.push_back({key, RefOf(*header, group.bytes.size())});
  group.bytes += bytes;
}

void LogWriter::AddLod(const Batch& samples, Group& group) {
  std::unique_ptr<LodBuilder>& builder = lod_[samples.stream];
  const size_t series = samples.ints.size() - 1;
  if (builder == nullptr) {
    std::shared_ptr<const model::Metadata> metadata;
    {
      const std::lock_guard lock(mutex_);
      metadata = state_.metadata.Snapshot();
    }
    const auto stream = std::find_if(metadata->streams.begin(), metadata->streams.end(),
                                     [&](const model::Stream& candidate) { return candidate.id == samples.stream; });
    if (stream == metadata->streams.end() || !MayHaveLod(samples.stream, stream->series.size())) return;
    std::vector<bool> is_counter;
    for (const model::SeriesId id : stream->series) {
      const model::Series* known = metadata->FindSeries(id);
      is_counter.push_back(known != nullptr && known->kind == model::SeriesKind::kCounter);
    }
    builder = std::make_unique<LodBuilder>(samples.stream, std::move(is_counter));
    DropLodOfPredecessors(*stream, *metadata);
  }
  if (series != builder->SeriesCount()) return;
  for (Batch& batch : builder->Add(samples)) {
    const FrameKey key{batch.table, batch.stream};
    group.lod.emplace_back(key, std::make_shared<const Batch>(std::move(batch)));
  }
}

/// A series is sampled in one stream at a time: those that had series of this one before have ended. What of their last
/// rows has no bucket is read from the rows.
void LogWriter::DropLodOfPredecessors(const model::Stream& stream, const model::Metadata& metadata) {
  std::vector<model::SeriesId> mine = stream.series;
  std::sort(mine.begin(), mine.end());
  const auto is_mine = [&](model::SeriesId id) { return std::binary_search(mine.begin(), mine.end(), id); };
  for (const model::Stream& other : metadata.streams) {
    if (other.id >= stream.id) break;  // ascending
    const auto found = lod_.find(other.id);
    if (found != lod_.end() && std::any_of(other.series.begin(), other.series.end(), is_mine)) lod_.erase(found);
  }
}

Status LogWriter::WriteGroup(Group& group) {
  for (IndexedFrame& frame : group.frames) frame.ref.offset += file_bytes_;
  ATTUNE_CHECK_OK(WriteWhole(output_.fd(), output_.path(), file_bytes_, group.bytes));
  file_bytes_ += group.bytes.size();
  unindexed_.insert(unindexed_.end(), group.frames.begin(), group.frames.end());
  if (unindexed_.size() < kFramesPerIndex) return {};
  Group index;
  AddIndexFrame(index);
  return WriteGroup(index);
}

/// The index frame of what was written is itself the first of what the next one lists.
void LogWriter::AddIndexFrame(Group& group) {
  AddFrame(IndexBatch(unindexed_), group);
  unindexed_.clear();
}

void LogWriter::CommitLocked(Group& group) {
  for (const auto& [key, ref] : group.frames) state_.index.Add(key, ref);
  for (const auto& [key, count] : group.taken) {
    for (size_t i = 0; i < count; ++i) PopPendingLocked(key);
  }
  for (auto& [key, batch] : group.lod) {
    const size_t cells = Cells(*batch);
    pending_cells_ += cells;
    section_cells_[key] += cells;
    state_.pending[key].push_back(std::move(batch));
  }
  NewsLocked();
}

void LogWriter::Fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  failure_ = error;
  for (const auto& [key, batches] : state_.pending) {
    if (!IsTimed(key.first)) continue;
    for (const BatchPtr& batch : batches) {
      const auto [first_ns, last_ns] = model::TimeExtent(*batch);
      AddLostLocked(GapReason::kDiskFull, first_ns, last_ns, batch->rows);
    }
  }
  NewsLocked();
}

Status LogWriter::Flush() {
  const std::lock_guard io_lock(io_mutex_);
  WritePass(Pass::kRows);
  return state();
}

Status LogWriter::Close() {
  std::call_once(close_once_, [this] {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    flusher_.join();
    const std::lock_guard io_lock(io_mutex_);
    WritePass(Pass::kRows);  // makes the last rows of level of detail
    WritePass(Pass::kEverything);
    WriteEnd();
    if (options_.temporary) output_.Discard();
    const std::lock_guard lock(mutex_);
    if (!options_.temporary && !discarded_ && failure_ && lost_rows_ == 0) failure_ = output_.TakePlace();
    Unlock(output_.fd());
    state_.growing = false;
    NewsLocked();
  });
  return state();
}

/// The writer's own gaps, the index and the footer. They are small, and after a full disk it is tried all the same.
void LogWriter::WriteEnd() {
  std::vector<Gap> gaps;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [reason, gap] : lost_) gaps.push_back(gap);
  }
  Group group;
  if (!gaps.empty()) AddFrame(model::ToBatch(gaps), group);
  Status status = WriteGroup(group);
  group = {};
  AddIndexFrame(group);
  if (status) status = WriteGroup(group);
  const FrameRef last_index = unindexed_.empty() ? FrameRef() : unindexed_.back().ref;
  group = {};
  AddFrame(FooterBatch(last_index), group);
  if (status) status = WriteGroup(group);
  const std::lock_guard lock(mutex_);
  if (!status && failure_) failure_ = status;
}

Status LogWriter::state() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

uint64_t LogWriter::LostRows() {
  const std::lock_guard lock(mutex_);
  return lost_rows_;
}

uint64_t LogWriter::FileBytes() {
  const std::lock_guard io_lock(io_mutex_);
  return file_bytes_;
}

}  // namespace attune::store
