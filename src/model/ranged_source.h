#pragma once
/// A part of the time of another source, as a source of its own.

#include <memory>

#include "base/thread_safety.h"
#include "model/source.h"
#include "model/table_ranges.h"

namespace attune::model {

/// Has the samples, events and rows of a range, and the threads and processes that lived in it, whose lives are cut to
/// it. Totals of lives that are longer than that are not known. Rows that sum up what came before them (`sync`,
/// `state_times`) count where they stand. @thread any, as the other source
class RangedSource final : public Source, public TableRanges {
 public:
  /// @param source must outlive this
  RangedSource(Source& source, TimeRange range) : source_(source), range_(range) {}

  std::shared_ptr<const Metadata> Meta() override;
  TimeRange Extent() override;
  Status ReadSamples(StreamId stream, std::span<const uint32_t> columns, TimeRange range,
                     const SampleVisitor& visit) override;
  Status ReadEvents(TimeRange range, const EventVisitor& visit) override;
  Status ReadTable(Table table, const std::function<bool(const Batch&)>& visit) override;
  Status ReadTableWithin(Table table, TimeRange range, const std::function<bool(const Batch&)>& visit) override;
  Result<std::vector<SeriesView>> View(const ViewRequest& request) override;
  uint64_t Version() override { return source_.Version(); }
  bool WaitForNews(uint64_t seen, std::chrono::milliseconds limit) override { return source_.WaitForNews(seen, limit); }
  bool Growing() override { return source_.Growing(); }

 private:
  TimeRange Clip(TimeRange range) const;

  Source& source_;
  const TimeRange range_;
  Mutex mutex_;
  std::shared_ptr<const Metadata> whole_ ATTUNE_GUARDED_BY(mutex_);  ///< that `meta_` is made of
  std::shared_ptr<const Metadata> meta_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::model
