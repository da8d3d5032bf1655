#include "store/log_writer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "model/codec.h"
#include "store/append_rows.h"

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
/// Columns decoded for readers that look at the same rows together. A reader that goes on reads new ones.
constexpr size_t kCacheBytes = 4u << 20;
/// In so much time what is published at once has come.
constexpr int64_t kBurstNs = 2'000'000;
/// Rows that wait for the disk; beyond it they are dropped and counted.
constexpr size_t kMaxPendingCells = 32u << 20;
/// Rows, before they are encoded, that are written at once: of a bounded file so small a part that its older half can
/// make room for them. Encoded they take a quarter more at the worst.
constexpr uint64_t kSliceBytes = 32u << 20;
constexpr uint64_t kSlicesAFile = 16;

size_t Cells(const Batch& batch) { return batch.rows * (batch.ints.size() + 4 * batch.texts.size()); }

size_t RawBytes(const Batch& batch) {
  size_t bytes = batch.rows * batch.ints.size() * sizeof(int64_t);
  for (const auto& column : batch.texts) {
    for (const std::string& text : column) bytes += text.size() + 1;
  }
  return bytes;
}

/// Parts of about so many bytes; the batch itself where it is no larger.
std::vector<BatchPtr> Split(const BatchPtr& batch, size_t bytes) {
  const size_t raw = RawBytes(*batch);
  if (raw <= bytes || batch->rows == 1) return {batch};
  const size_t rows = std::max<size_t>(1, batch->rows / (raw / bytes + 1));
  std::vector<BatchPtr> parts;
  for (size_t row = 0; row < batch->rows; row += rows) {
    Batch part;
    AppendRows(part, *batch, row, std::min(batch->rows, row + rows));
    if (row == 0) part.dropped_before = batch->dropped_before;
    parts.push_back(std::make_shared<const Batch>(std::move(part)));
  }
  return parts;
}

size_t LodRowLimit(const Batch& batch) {
  return std::clamp<size_t>(kLodFrameCells / std::max<size_t>(1, batch.ints.size()), 1, kLodFrameRows);
}

/// At most half of what may wait is encoded, so that newer rows have room beside it.
size_t SliceBytes(const LogOptions& options) {
  const uint64_t most = std::min<uint64_t>(kSliceBytes, options.max_waiting_cells * sizeof(int64_t) / 2);
  return options.max_bytes == 0 ? most : std::clamp<uint64_t>(options.max_bytes / kSlicesAFile, 1, most);
}

}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::Create(LogOptions options) {
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
    : LogSource(kCacheBytes, kCacheBytes),
      options_(std::move(options)),
      slice_bytes_(SliceBytes(options_)),
      output_(std::move(output)) {
  const Batch format = FormatBatch();
  const std::string beginning = model::EncodeFrame(format, model::Compression::kZstd);
  const FrameRef ref{0, static_cast<uint32_t>(beginning.size()), static_cast<uint32_t>(format.rows), 0, 0, 0};
  const FrameKey key{model::InfoRow::kTable, 0};
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
  const MutexLock io_lock(io_mutex_);
  return output_.path();
}

Status LogWriter::TakePlace() {
  const MutexLock io_lock(io_mutex_);
  return output_.TakePlace();
}

void LogWriter::Discard() {
  const MutexLock io_lock(io_mutex_);
  discarded_ = true;
  output_.Discard();
}

void LogWriter::Consume(const BatchPtr& batch) {
  if (batch->rows == 0) return;
  const FrameKey key{batch->table, batch->stream};
  const size_t cells = Cells(*batch);
  const std::vector<BatchPtr> parts = Split(batch, slice_bytes_);
  MutexLock lock(mutex_);
  if (!state_.growing) return;
  state_.metadata.Apply(*batch);
  const auto [first_ns, last_ns] = model::TimeExtent(*batch);
  if (model::IsTimed(batch->table)) {
    if (!failure_) {
      AddLostLocked(GapReason::kDiskFull, first_ns, last_ns, batch->rows);
    } else if (full_ && pending_cells_ + cells > kMaxPendingCells) {
      AddLostLocked(GapReason::kDropped, first_ns, last_ns, batch->rows);
      NewsLocked();
      return;
    }
    Widen(state_.extent, first_ns, last_ns);
  }
  bool wakes = false;
  for (const BatchPtr& part : parts) PushLocked(key, part);
  if (!failure_) {
    TrimLocked(key);
  } else {
    const bool was_idle = oldest_pending_ns_ == 0;
    if (was_idle) oldest_pending_ns_ = MonotonicNs();
    section_full_ = section_full_ || section_cells_[key] >= kFrameCells;
    wakes = full_ && (was_idle || section_full_);
    if (!full_) DropOldestLocked();
  }
  NewsLocked();
  lock.Unlock();  // or who wakes up would only wait for it
  if (wakes) wake_.NotifyOne();
}

void LogWriter::PushLocked(FrameKey key, BatchPtr batch) {
  const size_t cells = Cells(*batch);
  pending_cells_ += cells;
  section_cells_[key] += cells;
  state_.pending[key].push_back(std::move(batch));
}

/// After the recording ended early: the oldest rows of the stream make room for its newest ones.
void LogWriter::TrimLocked(FrameKey key) {
  auto& batches = state_.pending[key];
  while (pending_cells_ > options_.max_waiting_cells && !batches.empty()) PopPendingLocked(key);
}

/// While the disk is full. What is encoded already and definitions stay.
void LogWriter::DropOldestLocked() {
  const auto free_cells = [this](const FrameKey& key, size_t cells) ATTUNE_REQUIRES(mutex_) {
    const auto taken = taken_.find(key);
    return taken == taken_.end() ? cells : cells - taken->second.cells;
  };
  while (pending_cells_ > options_.max_waiting_cells) {
    FrameKey largest;
    size_t most = 0;
    for (const auto& [key, cells] : section_cells_) {
      const size_t mine = model::IsTimed(key.first) ? free_cells(key, cells) : 0;
      if (mine > most) largest = key;
      most = std::max(most, mine);
    }
    if (most == 0) return;
    auto& batches = state_.pending[largest];
    const auto taken = taken_.find(largest);
    const auto oldest = batches.begin() + static_cast<ptrdiff_t>(taken == taken_.end() ? 0 : taken->second.batches);
    const auto [first_ns, last_ns] = model::TimeExtent(**oldest);
    AddLostLocked(GapReason::kDiskFull, first_ns, last_ns, (*oldest)->rows);
    last_full_->lost_rows += static_cast<int64_t>((*oldest)->rows);
    pending_cells_ -= Cells(**oldest);
    section_cells_[largest] -= Cells(**oldest);
    batches.erase(oldest);
  }
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
  MutexLock lock(mutex_);
  while (!stopping_) {
    const bool idle = (oldest_pending_ns_ == 0 && full_) || !failure_;
    // Rows that come rarely and many at once are written by one wake-up: it is not a time after the first of them.
    const int64_t due_ns = std::max(flushed_ns_ + options_.flush_ns, oldest_pending_ns_ + kBurstNs);
    const int64_t left_ns = idle ? 0 : due_ns - MonotonicNs();
    if (idle) {
      wake_.Wait(lock);
    } else if (left_ns > 0 && (!section_full_ || !full_)) {
      wake_.WaitFor(lock, std::chrono::nanoseconds(left_ns));
    } else {
      lock.Unlock();
      {
        const MutexLock io_lock(io_mutex_);
        WritePass(left_ns > 0 ? Pass::kFullSections : Pass::kRows);
      }
      lock.Lock();
    }
  }
}

/// Number of pending batches that a pass writes.
std::map<FrameKey, size_t> LogWriter::CountLocked(Pass pass) const {
  std::map<FrameKey, size_t> counts;
  for (const auto& [key, batches] : state_.pending) {
    if (batches.empty()) continue;
    bool wanted = true;
    if (key.first == model::LodRow::kTable && pass != Pass::kEverything) {
      const size_t rows = section_cells_.at(key) / std::max<size_t>(1, batches.front()->ints.size());
      wanted = rows >= LodRowLimit(*batches.front());
    } else if (pass == Pass::kFullSections) {
      wanted = section_cells_.at(key) >= kFrameCells;
    }
    if (wanted) counts[key] = batches.size();
  }
  return counts;
}

/// The next of them for one group, which become taken_.
std::vector<LogWriter::Section> LogWriter::ChooseLocked(std::map<FrameKey, size_t>& left) {
  std::vector<Section> sections;
  size_t bytes = 0;
  bool full = false;
  while (!left.empty() && !full) {
    auto& [key, count] = *left.begin();
    const auto& batches = state_.pending[key];
    count = std::min(count, batches.size());
    Section section{key, {}};
    Taken& taken = taken_[key];
    while (taken.batches < count && !full) {
      const BatchPtr& batch = batches[taken.batches];
      const size_t more = RawBytes(*batch);
      full = bytes > 0 && bytes + more > slice_bytes_;
      if (full) break;
      bytes += more;
      ++taken.batches;
      taken.cells += Cells(*batch);
      section.batches.push_back(batch);
    }
    count -= taken.batches;
    if (taken.batches == 0) taken_.erase(key);
    if (!section.batches.empty()) sections.push_back(std::move(section));
    if (count == 0) left.erase(left.begin());
  }
  return sections;
}

void LogWriter::WritePass(Pass pass) {
  if (!WriteWaiting()) return;
  std::map<FrameKey, size_t> left;
  {
    const MutexLock lock(mutex_);
    left = CountLocked(pass);
    section_full_ = false;
    if (pass != Pass::kFullSections) {
      oldest_pending_ns_ = 0;
      flushed_ns_ = MonotonicNs();
    }
  }
  while (!left.empty()) {
    std::vector<Section> sections;
    {
      const MutexLock lock(mutex_);
      sections = ChooseLocked(left);
    }
    if (sections.empty()) return;
    waiting_.emplace();
    for (const Section& section : sections) Encode(section, *waiting_);
    if (!WriteWaiting()) return;
  }
}

/// Writes the group that waits, if there is one. It stays as it is until that succeeds: what a reader may have seen of
/// it before the disk was full is what comes there later.
/// @return whether more can be written
bool LogWriter::WriteWaiting() {
  {
    const MutexLock lock(mutex_);
    if (!failure_) return false;
  }
  Status status;
  if (waiting_) {
    status = MakeRoom(*waiting_);
    if (status) status = WriteGroup(*waiting_);
    if (status) {
      const MutexLock lock(mutex_);
      CommitLocked(*waiting_);
      waiting_.reset();
    }
  }
  if (status && unindexed_.size() >= kFramesPerIndex) status = WriteIndex();
  if (!status) {
    OnWriteError(status.error());
    return false;
  }
  const MutexLock lock(mutex_);
  GoOnLocked();
  return true;
}

void LogWriter::Encode(const Section& section, Group& group) {
  Batch frame;
  const auto finish = [&]() ATTUNE_REQUIRES(io_mutex_) {
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
      AppendRows(frame, *batch, row, end);
      row = end;
      if (frame.rows >= most_rows) finish();
    }
  }
  finish();
}

void LogWriter::AddFrame(Batch batch, Group& group) {
  if (batch.table == model::Sample::kTable) AddLod(batch, group);
  const FrameKey key{batch.table, batch.stream};
  batch.sequence = next_sequence_[key]++;
  const std::string bytes = model::EncodeFrame(batch, model::Compression::kZstd);
  const auto header = model::ParseHeader(bytes);
  if (!header) {  // more than a frame can hold: texts without bounds, or more columns than there may be
    const auto [first_ns, last_ns] = model::TimeExtent(batch);
    const MutexLock lock(mutex_);
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
      const MutexLock lock(mutex_);
      metadata = state_.metadata.Snapshot();
    }
    const auto stream = std::find_if(metadata->streams.begin(), metadata->streams.end(),
                                     [&](const model::Stream& candidate) { return candidate.id == samples.stream; });
    if (stream == metadata->streams.end() || !MayHaveLod(samples.stream, stream->series.size())) return;
    std::vector<model::Series> of_stream;
    for (const model::SeriesId id : stream->series) {
      const model::Series* known = metadata->FindSeries(id);
      of_stream.push_back(known != nullptr ? *known : model::Series());
    }
    builder = std::make_unique<LodBuilder>(samples.stream, of_stream);
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

/// Nothing has changed where it fails.
Status LogWriter::WriteGroup(Group& group) {
  ATTUNE_CHECK_OK(WriteWhole(output_.fd(), output_.path(), file_bytes_, group.bytes));
  for (IndexedFrame& frame : group.frames) frame.ref.offset += file_bytes_;
  file_bytes_ += group.bytes.size();
  unindexed_.insert(unindexed_.end(), group.frames.begin(), group.frames.end());
  return {};
}

/// The index frame of what was written is itself the first of what the next one lists.
Status LogWriter::WriteIndex() {
  Group group;
  AddFrame(IndexBatch(unindexed_), group);
  if (const Status status = WriteGroup(group); !status) {
    --next_sequence_[{model::IndexRow::kTable, 0}];
    return status;
  }
  unindexed_.erase(unindexed_.begin(), unindexed_.end() - static_cast<ptrdiff_t>(group.frames.size()));
  const MutexLock lock(mutex_);
  CommitLocked(group);
  return {};
}

void LogWriter::CommitLocked(Group& group) {
  for (const auto& [key, ref] : group.frames) state_.index.Add(key, ref);
  for (const auto& [key, taken] : std::exchange(taken_, {})) {
    for (size_t i = 0; i < taken.batches; ++i) PopPendingLocked(key);
  }
  for (auto& [key, batch] : group.lod) PushLocked(key, std::move(batch));
  NewsLocked();
}

/// A disk may get room again; all else is for ever.
void LogWriter::OnWriteError(const Error& error) {
  if (error.code != Errc::kNoSpace) {
    Fail(error);
    return;
  }
  const MutexLock lock(mutex_);
  flushed_ns_ = MonotonicNs();  // it is tried again a flush later
  if (full_) last_full_ = DiskFull{flushed_ns_, 0, 0, error.message};
  full_ = error;
  NewsLocked();
}

/// There is room again, if there was none.
void LogWriter::GoOnLocked() {
  if (full_) return;
  full_ = {};
  last_full_->until_ns = MonotonicNs();
  Gap gap{0, last_full_->since_ns, last_full_->until_ns, 0, GapReason::kDiskFull};
  if (const auto lost = lost_.find(gap.reason); lost != lost_.end()) {
    gap.t0_ns = std::min(gap.t0_ns, lost->second.t0_ns);
    gap.t1_ns = std::max(gap.t1_ns, lost->second.t1_ns);
    gap.count = lost->second.count;
    lost_.erase(lost);
    state_.metadata.DropOpenGap(gap.reason);
  }
  auto batch = std::make_shared<const Batch>(model::ToBatch(std::span(&gap, 1)));
  state_.metadata.Apply(*batch);
  PushLocked({model::Gap::kTable, 0}, std::move(batch));
  if (oldest_pending_ns_ == 0) oldest_pending_ns_ = last_full_->until_ns;
}

void LogWriter::Fail(const Error& error) {
  const MutexLock lock(mutex_);
  full_ = {};
  failure_ = error;
  waiting_.reset();
  taken_.clear();
  for (const auto& [key, batches] : state_.pending) {
    if (!model::IsTimed(key.first)) continue;
    for (const BatchPtr& batch : batches) {
      const auto [first_ns, last_ns] = model::TimeExtent(*batch);
      AddLostLocked(GapReason::kDiskFull, first_ns, last_ns, batch->rows);
    }
  }
  NewsLocked();
}

Status LogWriter::Flush() {
  const MutexLock io_lock(io_mutex_);
  WritePass(Pass::kRows);
  return state();
}

Status LogWriter::Close() {
  std::call_once(close_once_, [this] {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    wake_.NotifyOne();
    flusher_.join();
    const MutexLock io_lock(io_mutex_);
    WritePass(Pass::kRows);  // makes the last rows of level of detail
    WritePass(Pass::kEverything);
    Status full;
    {
      const MutexLock lock(mutex_);
      if (failure_) full = full_;
    }
    if (!full) Fail(full.error());
    WriteEnd();
    if (options_.temporary) output_.Discard();
    const MutexLock lock(mutex_);
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
    const MutexLock lock(mutex_);
    for (const auto& [reason, gap] : lost_) gaps.push_back(gap);
  }
  Group group;
  if (!gaps.empty()) AddFrame(model::ToBatch(gaps), group);
  Status status = WriteGroup(group);
  if (status) status = WriteIndex();
  if (status) {
    group = {};
    AddFrame(FooterBatch(unindexed_.back().ref), group);
    status = WriteGroup(group);
  }
  const MutexLock lock(mutex_);
  if (!status && failure_) failure_ = status;
}

Status LogWriter::state() {
  const MutexLock lock(mutex_);
  return failure_ ? full_ : failure_;
}

std::optional<DiskFull> LogWriter::LastDiskFull() {
  const MutexLock lock(mutex_);
  return last_full_;
}

std::string LogWriter::Trouble() {
  const MutexLock lock(mutex_);
  if (!failure_) return "nothing more is recorded: " + failure_.error().message;
  if (!last_full_) return "";
  const DiskFull& full = *last_full_;
  if (full.until_ns == 0) return fmt::format("the recording waits: {}; it goes on when it can", full.message);
  return "the recording goes on: " + NotWrittenText(full.until_ns - full.since_ns, full.lost_rows);
}

std::string NotWrittenText(int64_t duration_ns, int64_t lost_rows) {
  return fmt::format("nothing could be written for {}: {}", FormatDuration(duration_ns),
                     lost_rows == 0 ? "nothing is lost" : fmt::format("{} rows are lost", lost_rows));
}

uint64_t LogWriter::LostRows() {
  const MutexLock lock(mutex_);
  return lost_rows_;
}

uint64_t LogWriter::FileBytes() {
  const MutexLock io_lock(io_mutex_);
  return file_bytes_;
}

}  // namespace attune::store
