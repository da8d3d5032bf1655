/// Rolling: a recording that reached its largest size is written anew with all its small tables and the newest half of
/// its samples and events. The new file takes the old one's place at once; who reads the old one can go on doing so.

#include <fmt/format.h>

#include <algorithm>

#include "model/codec.h"
#include "store/log_writer.h"

namespace attune::store {
namespace {

using model::Table;

constexpr size_t kCopyBytes = 1u << 20;
constexpr size_t kRowsAFrame = 16384;
/// What a frame takes in the index, about, and what the footer takes.
constexpr uint64_t kIndexBytesAFrame = 24;
constexpr uint64_t kEndBytes = 4096;

/// Tables whose later rows replace earlier ones: the state of now stands for all their frames.
bool IsReplaced(Table table) {
  return table == Table::kInfo || table == Table::kElements || table == Table::kSeries || table == Table::kStreams ||
         table == Table::kProcesses || table == Table::kSites;
}

/// Appends frames to a new file.
class Rewriter {
 public:
  Rewriter(const FrameFile& from, int fd, const std::string& path) : from_(from), fd_(fd), path_(path) {}

  Status Add(const model::Batch& batch) {
    const std::string bytes = model::EncodeFrame(batch, model::Compression::kZstd);
    ATTUNE_TRY(const auto header, model::ParseHeader(bytes));
    Place({batch.table, batch.stream}, RefOf(header, 0));
    buffer_ += bytes;
    return FlushIf(kCopyBytes);
  }

  template <class Row>
  Status AddRows(const std::vector<Row>& rows) {
    uint64_t sequence = 0;
    for (size_t first = 0; first < rows.size(); first += kRowsAFrame) {
      model::Batch batch = model::ToBatch(std::span(rows).subspan(first, std::min(kRowsAFrame, rows.size() - first)));
      batch.sequence = sequence++;
      ATTUNE_CHECK_OK(Add(batch));
    }
    return {};
  }

  /// A frame as it is.
  Status Copy(const IndexedFrame& frame) {
    ATTUNE_TRY(const std::string bytes, from_.Read(frame.ref.offset, frame.ref.bytes));
    Place(frame.key, frame.ref);
    buffer_ += bytes;
    return FlushIf(kCopyBytes);
  }

  Status Finish() { return FlushIf(1); }
  const std::vector<IndexedFrame>& frames() const { return frames_; }
  uint64_t bytes() const { return offset_ + buffer_.size(); }

 private:
  void Place(FrameKey key, FrameRef ref) {
    ref.offset = bytes();
    frames_.push_back({key, ref});
  }

  Status FlushIf(size_t at_least) {
    if (buffer_.size() < at_least) return {};
    ATTUNE_CHECK_OK(WriteWhole(fd_, path_, offset_, buffer_));
    offset_ += buffer_.size();
    buffer_.clear();
    return {};
  }

  const FrameFile& from_;
  const int fd_;
  const std::string& path_;
  std::string buffer_;
  uint64_t offset_ = 0;
  std::vector<IndexedFrame> frames_;
};

/// What a rewriting keeps and what it gives up.
struct Selection {
  std::vector<IndexedFrame> kept;  ///< in the order of the file
  int64_t lost_rows = 0;
  model::TimeRange kept_extent;
};

Selection NewestFrames(const std::vector<IndexedFrame>& all, uint64_t max_bytes) {
  Selection selection;
  uint64_t bytes = 0;
  bool full = false;
  bool first_clock = true;
  for (auto frame = all.rbegin(); frame != all.rend(); ++frame) {
    const Table table = frame->key.first;
    if (IsReplaced(table) || table == Table::kIndex || table == Table::kFooter) continue;
    if (!IsTimed(table) && table != Table::kLod && table != Table::kClock) {
      selection.kept.push_back(*frame);  // labels, gaps, alarms, findings, decisions
      continue;
    }
    bytes += frame->ref.bytes;
    full = full || bytes > max_bytes;
    if (!full) {
      selection.kept.push_back(*frame);
      if (IsTimed(table)) Widen(selection.kept_extent, frame->ref.first_ns, frame->ref.last_ns);
    } else if (IsTimed(table)) {
      selection.lost_rows += frame->ref.rows;
    }
  }
  // The first clock row names all times of the recording, so that it is kept whatever its age.
  for (const IndexedFrame& frame : all) {
    if (!first_clock || frame.key.first != Table::kClock) continue;
    first_clock = false;
    const bool kept = std::any_of(selection.kept.begin(), selection.kept.end(),
                                  [&](const IndexedFrame& other) { return other.ref.offset == frame.ref.offset; });
    if (!kept) selection.kept.push_back(frame);
  }
  std::reverse(selection.kept.begin(), selection.kept.end());
  return selection;
}

}  // namespace

Status LogWriter::MakeRoom(const Group& group) {
  if (options_.max_bytes == 0) return {};
  const uint64_t end_bytes = kIndexBytesAFrame * (unindexed_.size() + group.frames.size()) + kEndBytes;
  if (file_bytes_ + group.bytes.size() + end_bytes <= std::max(options_.max_bytes, next_roll_bytes_)) return {};
  const Status status = Roll();
  if (!status) output_.DropNext();
  return status;
}

Status LogWriter::Roll() {
  std::vector<IndexedFrame> all;
  std::shared_ptr<const model::Metadata> metadata;
  std::shared_ptr<const FrameFile> old_file;
  model::Gap gap{0, 0, 0, 0, model::GapReason::kRolled};
  {
    const std::lock_guard lock(mutex_);
    all = state_.index.All();
    metadata = state_.metadata.Snapshot();
    old_file = state_.file;
    gap.t0_ns = state_.index.Extent().t0_ns;
  }
  for (const model::Gap& earlier : metadata->gaps) {
    if (earlier.reason == model::GapReason::kRolled) gap = earlier;
  }
  const Selection selection = NewestFrames(all, options_.max_bytes / 2);
  gap.t1_ns = selection.kept_extent.t0_ns;
  gap.count += selection.lost_rows;

  ATTUNE_TRY(UniqueFd fd, output_.CreateNext());
  ATTUNE_TRY(auto file, ReadableFile(fd.get(), output_.path()));
  Rewriter rewriter(*old_file, fd.get(), output_.path());
  std::vector<std::pair<std::string, std::string>> info(metadata->info.begin(), metadata->info.end());
  ATTUNE_CHECK_OK(rewriter.Add(model::InfoBatch(info)));
  ATTUNE_CHECK_OK(rewriter.AddRows(metadata->elements));
  ATTUNE_CHECK_OK(rewriter.AddRows(metadata->series));
  ATTUNE_CHECK_OK(rewriter.AddRows(metadata->streams));
  ATTUNE_CHECK_OK(rewriter.AddRows(metadata->processes));
  ATTUNE_CHECK_OK(rewriter.AddRows(metadata->sites));
  for (const IndexedFrame& frame : selection.kept) ATTUNE_CHECK_OK(rewriter.Copy(frame));
  ATTUNE_CHECK_OK(rewriter.AddRows(std::vector<model::Gap>{gap}));
  ATTUNE_CHECK_OK(rewriter.Finish());
  ATTUNE_CHECK_OK(output_.ReplaceBy(std::move(fd)));

  FrameIndex index;
  for (const auto& [key, ref] : rewriter.frames()) index.Add(key, ref);
  file_bytes_ = rewriter.bytes();
  // Small tables cannot be given up: if they alone are large, the recording still rolls only now and then.
  next_roll_bytes_ = file_bytes_ + file_bytes_ / 4;
  unindexed_ = rewriter.frames();
  const std::lock_guard lock(mutex_);
  state_.file = std::move(file);
  state_.index = std::move(index);
  state_.metadata.SetOpenGap(gap);
  state_.extent = state_.index.Extent();
  for (const auto& [key, batches] : state_.pending) {
    for (const model::BatchPtr& batch : batches) {
      const auto [first_ns, last_ns] = model::TimeExtent(*batch);
      if (IsTimed(key.first)) Widen(state_.extent, first_ns, last_ns);
    }
  }
  NewsLocked();
  return {};
}

}  // namespace attune::store
