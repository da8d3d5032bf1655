/// Rolling: a recording that reached its largest size is written anew with all its small tables and the newest samples
/// and events, in half of the room that those leave. The new file takes the old one's place at once; who reads the old
/// one can go on doing so.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/thread_safety.h"
#include "base/units.h"
#include "model/codec.h"
#include "store/append_rows.h"
#include "store/log_writer.h"

namespace attune::store {
namespace {

using model::Table;

constexpr size_t kCopyBytes = 1u << 20;
constexpr size_t kRowsAFrame = 16384;
/// At the worst: the varints of a frame's row in the index, with what does not compress; the writer's own gaps, the
/// headers of index and footer, and a gap of a full disk.
constexpr uint64_t kIndexBytesAFrame = 60;
constexpr uint64_t kEndBytes = 4096;
/// Gaps that stay apart; older ones of a stream and reason become one.
constexpr size_t kNewestGaps = 128;
/// Sizes that are asked for are multiples of this.
constexpr uint64_t kSizeStep = 64u << 10;

uint64_t EndBytes(size_t frames) { return kIndexBytesAFrame * frames + kEndBytes; }

/// Tables whose later rows replace earlier ones: the state of now stands for all their frames.
bool IsReplaced(Table table) {
  const model::TableSchema* schema = model::FindSchema(table);
  return schema != nullptr && schema->text.storage == model::Storage::kReplaced;
}

/// Tables whose rows are given up when they are old.
bool IsGivenUp(Table table) {
  const model::TableSchema* schema = model::FindSchema(table);
  return schema != nullptr && (schema->text.storage == model::Storage::kTimed || schema->text.is_outdated);
}

std::vector<model::Gap> MergeOld(const std::vector<model::Gap>& gaps) {
  std::map<std::tuple<model::StreamId, model::GapReason, model::ElementId>, model::Gap> merged;
  std::vector<model::Gap> result;
  const size_t old = gaps.size() - std::min(gaps.size(), kNewestGaps);
  for (size_t i = 0; i < old; ++i) {
    const auto [found, is_new] = merged.try_emplace({gaps[i].stream, gaps[i].reason, gaps[i].thread}, gaps[i]);
    if (is_new) continue;
    found->second.t0_ns = std::min(found->second.t0_ns, gaps[i].t0_ns);
    found->second.t1_ns = std::max(found->second.t1_ns, gaps[i].t1_ns);
    found->second.count += gaps[i].count;
  }
  for (const auto& [key, gap] : merged) result.push_back(gap);
  result.insert(result.end(), gaps.begin() + static_cast<ptrdiff_t>(old), gaps.end());
  return result;
}

/// Appends frames to a new file.
class Rewriter {
 public:
  Rewriter(const FrameFile& from, int fd) : from_(from), fd_(fd) {}
  /// Only for bytes() and frames().
  explicit Rewriter(const FrameFile& from) : Rewriter(from, -1) {}

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

  /// All that is known of each, in as few frames as possible.
  Status AddDefinitions(const model::Metadata& metadata) {
    const std::vector<std::pair<std::string, std::string>> info(metadata.info.begin(), metadata.info.end());
    ATTUNE_CHECK_OK(Add(model::InfoBatch(info)));
    ATTUNE_CHECK_OK(AddRows(metadata.elements));
    ATTUNE_CHECK_OK(AddRows(metadata.series));
    ATTUNE_CHECK_OK(AddRows(metadata.streams));
    ATTUNE_CHECK_OK(AddRows(metadata.processes));
    return AddRows(metadata.sites);
  }

  /// The rows of these frames of one small table, in as few frames as possible; a gap of reason kRolled is left out.
  Status AddMerged(const std::vector<FrameRef>& refs, Table table) {
    std::vector<model::Gap> gaps;
    model::Batch merged;
    uint64_t sequence = 0;
    const auto finish = [&]() -> Status {
      if (merged.rows == 0) return {};
      merged.sequence = sequence++;
      return Add(std::exchange(merged, {}));
    };
    for (const FrameRef& ref : refs) {
      ATTUNE_TRY(const std::string bytes, from_.Read(ref.offset, ref.bytes));
      ATTUNE_TRY(const model::Batch batch, model::DecodeFrame(bytes));
      if (table == model::Gap::kTable) {
        std::ranges::copy_if(model::RowsFrom<model::Gap>(batch), std::back_inserter(gaps),
                             [](const model::Gap& gap) { return gap.reason != model::GapReason::kRolled; });
        continue;
      }
      if (!SameColumns(merged, batch) || merged.rows + batch.rows > kRowsAFrame) ATTUNE_CHECK_OK(finish());
      AppendRows(merged, batch, 0, batch.rows);
    }
    ATTUNE_CHECK_OK(finish());
    return AddRows(MergeOld(gaps));
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
    if (buffer_.size() < at_least || fd_ < 0) return {};
    ATTUNE_CHECK_OK(WriteWhole(fd_, from_.path(), offset_, buffer_));
    offset_ += buffer_.size();
    buffer_.clear();
    return {};
  }

  const FrameFile& from_;
  const int fd_;
  std::string buffer_;
  uint64_t offset_ = 0;
  std::vector<IndexedFrame> frames_;
};

/// Samples, events and clock rows that a rewriting keeps, and the number of rows that it gives up.
struct Selection {
  std::vector<IndexedFrame> kept;  ///< in the order of the file
  int64_t lost_rows = 0;
  model::TimeRange kept_extent;
};

/// By time, not by place: what a program kept in its rings comes much later than samples of the same moment.
Selection NewestFrames(std::vector<IndexedFrame> all, uint64_t max_bytes) {
  Selection selection;
  std::ranges::stable_sort(all, {}, [](const IndexedFrame& frame) { return frame.ref.last_ns; });
  uint64_t bytes = 0;
  bool full = false;
  for (auto frame = all.rbegin(); frame != all.rend(); ++frame) {
    const Table table = frame->key.first;
    if (!IsGivenUp(table)) continue;
    bytes += frame->ref.bytes + kIndexBytesAFrame;
    full = full || bytes > max_bytes;
    if (!full) {
      selection.kept.push_back(*frame);
      if (model::IsTimed(table)) Widen(selection.kept_extent, frame->ref.first_ns, frame->ref.last_ns);
    } else if (model::IsTimed(table)) {
      selection.lost_rows += frame->ref.rows;
    }
  }
  std::ranges::sort(selection.kept, {}, [](const IndexedFrame& frame) { return frame.ref.offset; });
  return selection;
}

/// The frames of small tables whose rows are all kept.
std::map<FrameKey, std::vector<FrameRef>> SmallTables(const std::vector<IndexedFrame>& all) {
  std::map<FrameKey, std::vector<FrameRef>> small;
  for (const auto& [key, ref] : all) {
    const model::TableSchema* schema = model::FindSchema(key.first);
    const bool is_of_file = schema != nullptr && schema->text.storage == model::Storage::kFile;
    if (IsGivenUp(key.first) || IsReplaced(key.first) || is_of_file) continue;
    small[key].push_back(ref);
  }
  return small;
}

Error TooSmall(uint64_t max_bytes, uint64_t definitions, Errc code) {
  const uint64_t least = (2 * definitions / kSizeStep + 1) * kSizeStep;
  return {code,
          fmt::format("--max-size {} is too small: what the recording says of the machine and the programs takes {}",
                      FormatBytes(max_bytes), FormatBytes(definitions)),
          fmt::format("give --max-size at least {}kB", least >> 10)};
}

}  // namespace

Status LogWriter::CheckMaxBytes() {
  if (options_.max_bytes == 0) return {};
  std::shared_ptr<const model::Metadata> metadata;
  std::shared_ptr<const FrameFile> file;
  {
    const MutexLock lock(mutex_);
    metadata = state_.metadata.Snapshot();
    file = state_.file;
  }
  Rewriter rewriter(*file);
  ATTUNE_CHECK_OK(rewriter.AddDefinitions(*metadata));
  const uint64_t bytes = rewriter.bytes() + EndBytes(rewriter.frames().size());
  if (2 * bytes <= options_.max_bytes) return {};
  return TooSmall(options_.max_bytes, bytes, Errc::kInvalidArgument);
}

bool LogWriter::Fits(const Group& group) const {
  return file_bytes_ + group.bytes.size() + EndBytes(unindexed_.size() + group.frames.size()) <= options_.max_bytes;
}

/// The file never exceeds max_bytes, with the index and the footer that it ends with.
Status LogWriter::MakeRoom(const Group& group) {
  if (options_.max_bytes == 0 || Fits(group)) return {};
  const Status status = Roll(group);
  if (!status) output_.DropNext();
  return status;
}

Status LogWriter::Roll(const Group& group) {
  std::vector<IndexedFrame> all;
  std::shared_ptr<const model::Metadata> metadata;
  std::shared_ptr<const FrameFile> old_file;
  model::Gap gap{0, 0, 0, 0, model::GapReason::kRolled};
  model::TimeRange extent;
  {
    const MutexLock lock(mutex_);
    all = state_.index.All();
    metadata = state_.metadata.Snapshot();
    old_file = state_.file;
    extent = state_.index.Extent();
    gap.t0_ns = extent.t0_ns;
  }
  for (const model::Gap& earlier : metadata->gaps) {
    if (earlier.reason == model::GapReason::kRolled) gap = earlier;
  }
  ATTUNE_TRY(UniqueFd fd, output_.CreateNext());
  ATTUNE_TRY(auto file, ReadableFile(fd.get(), output_.path()));
  Rewriter rewriter(*old_file, fd.get());
  ATTUNE_CHECK_OK(rewriter.AddDefinitions(*metadata));
  for (const auto& [key, refs] : SmallTables(all)) ATTUNE_CHECK_OK(rewriter.AddMerged(refs, key.first));
  // The first clock row names all times of the recording, so that it is kept whatever its age.
  const auto clock =
      std::ranges::find_if(all, [](const auto& frame) { return frame.key.first == model::ClockReading::kTable; });
  if (clock != all.end()) {
    ATTUNE_CHECK_OK(rewriter.Copy(*clock));
    all.erase(clock);
  }
  const uint64_t needed =
      rewriter.bytes() + group.bytes.size() + EndBytes(rewriter.frames().size() + group.frames.size());
  if (needed > options_.max_bytes) return TooSmall(options_.max_bytes, needed, Errc::kTooLarge);
  const Selection selection = NewestFrames(all, (options_.max_bytes - needed) / 2);
  gap.t1_ns = selection.kept_extent.t1_ns != 0 ? selection.kept_extent.t0_ns : extent.t1_ns;
  gap.count += selection.lost_rows;
  for (const IndexedFrame& frame : selection.kept) ATTUNE_CHECK_OK(rewriter.Copy(frame));
  if (gap.count > 0) ATTUNE_CHECK_OK(rewriter.AddRows(std::vector<model::Gap>{gap}));
  ATTUNE_CHECK_OK(rewriter.Finish());
  ATTUNE_CHECK_OK(output_.ReplaceBy(std::move(fd)));

  FrameIndex index;
  for (const auto& [key, ref] : rewriter.frames()) index.Add(key, ref);
  file_bytes_ = rewriter.bytes();
  unindexed_ = rewriter.frames();
  const MutexLock lock(mutex_);
  state_.file = std::move(file);
  state_.index = std::move(index);
  if (gap.count > 0) state_.metadata.SetOpenGap(gap);
  state_.extent = state_.index.Extent();
  DropLodLocked(gap.t1_ns);
  for (const auto& [key, batches] : state_.pending) {
    for (const model::BatchPtr& batch : batches) {
      const auto [first_ns, last_ns] = model::TimeExtent(*batch);
      if (model::IsTimed(key.first)) Widen(state_.extent, first_ns, last_ns);
    }
  }
  NewsLocked();
  return {};
}

/// Level of detail that waits, of rows that were given up.
void LogWriter::DropLodLocked(int64_t before_ns) {
  for (auto& [key, batches] : state_.pending) {
    if (key.first != model::LodRow::kTable || taken_.contains(key)) continue;
    while (!batches.empty() && model::TimeExtent(*batches.front()).second < before_ns) PopPendingLocked(key);
  }
}

}  // namespace attune::store
