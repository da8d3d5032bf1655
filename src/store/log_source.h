#pragma once
/// The reading half of a recording and of a log writer: model::Source over the frames of a file and rows in memory.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/thread_safety.h"
#include "model/source.h"
#include "model/table_ranges.h"
#include "store/frame_file.h"
#include "store/frame_index.h"
#include "store/metadata_builder.h"
#include "store/stream_rows.h"

namespace attune::store {

class LogSource : public model::Source, public model::TableRanges {
 public:
  LogSource(const LogSource&) = delete;
  LogSource& operator=(const LogSource&) = delete;

  std::shared_ptr<const model::Metadata> Meta() override;
  model::TimeRange Extent() override;
  Status ReadSamples(model::StreamId stream, std::span<const uint32_t> columns, model::TimeRange range,
                     const model::SampleVisitor& visit) override;
  Status ReadEvents(model::TimeRange range, const model::EventVisitor& visit) override;
  Status ReadTable(model::Table table, const std::function<bool(const model::Batch&)>& visit) override;
  Status ReadTableWithin(model::Table table, model::TimeRange range,
                         const std::function<bool(const model::Batch&)>& visit) override;
  Result<std::vector<model::SeriesView>> View(const model::ViewRequest& request) override;
  uint64_t Version() override;
  bool WaitForNews(uint64_t seen, std::chrono::milliseconds limit) override;
  bool Growing() override;

  /// Visits blocks of rows in the order of the stream: whole frames, without a check of times. Unreadable frames are
  /// recorded as damage and skipped.
  void VisitBlocks(const StreamRows& rows, std::span<const uint32_t> columns, const BlockVisitor& visit);

 protected:
  explicit LogSource(size_t cache_bytes = 64u << 20, size_t fine_bytes = 96u << 20)
      : cache_(cache_bytes), fine_(fine_bytes) {}

  /// The state of the recording.
  struct State {
    std::shared_ptr<const FrameFile> file;
    FrameIndex index;
    std::map<FrameKey, std::deque<model::BatchPtr>> pending;  ///< rows not in the file yet, oldest first
    model::TimeRange extent;                                  ///< extent of index and pending
    MetadataBuilder metadata;
    std::set<uint64_t> damaged;  ///< offsets of unreadable frames
    uint64_t version = 1;
    bool growing = true;
  };

  /// Called before each read, to pick up new data of the file; takes mutex_ itself.
  virtual void Refresh() ATTUNE_EXCLUDES(mutex_) {}
  /// Rows of the stream in the frames and batches that overlap the range; with `and_before`, the one before them too.
  StreamRows TakeLocked(FrameKey key, model::TimeRange range, bool and_before) const ATTUNE_REQUIRES(mutex_);
  void NewsLocked() ATTUNE_REQUIRES(mutex_);

  Mutex mutex_;
  CondVar news_;
  State state_ ATTUNE_GUARDED_BY(mutex_);

 private:
  /// @param range nullptr: all
  Status ReadFrames(model::Table table, const model::TimeRange* range,
                    const std::function<bool(const model::Batch&)>& visit);
  void NoteDamage(const FrameFile& file, const FrameRef& ref, const Error& error);

  ColumnCache cache_;
  ColumnCache fine_;  ///< buckets that views made of samples
};

/// "12.345 s to 12.845 s after the start of the recording"
std::string DescribeLostTime(model::TimeRange lost, model::TimeRange extent);

}  // namespace attune::store
