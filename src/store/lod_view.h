#pragma once
/// Computes views: few samples are returned unchanged, many as one bucket a pixel. Buckets come from the coarsest level
/// of detail that is fine enough, or from the samples if there is none.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "model/series_values.h"
#include "model/source.h"
#include "store/lod.h"
#include "store/stream_rows.h"

namespace attune::store {

/// A column of a stream in a view.
struct ViewColumn {
  uint32_t column = 0;  ///< index into Stream::series
  size_t view = 0;      ///< index into the result
  bool is_counter = false;
  double scale = 1;
  int64_t max_per_second = model::kAbsent;  ///< raw
};

/// Looks up in which of some ranges a time lies; times that come in order are found at once.
class RangeCursor {
 public:
  explicit RangeCursor(std::span<const model::TimeRange> ranges) : ranges_(ranges) {}

  /// The range that holds t_ns, or nullptr.
  const model::TimeRange* Find(int64_t t_ns);

 private:
  std::span<const model::TimeRange> ranges_;
  size_t at_ = 0;
};

/// A consistent snapshot of one stream's data for a view.
struct ViewStream {
  StreamRows samples;                      ///< rows of the range and of the block before it
  std::array<StreamRows, kLodLevels> lod;  ///< finest first
  int64_t first_ns = 0;                    ///< time of the first sample that the recording still has
  std::vector<ViewColumn> columns;
};

/// @param visit_blocks LogSource::VisitBlocks
using VisitBlocksFn = std::function<void(const StreamRows&, std::span<const uint32_t>, const BlockVisitor&)>;

/// Addition of a sample to its bucket. NaN: it has no value
struct ViewValue {
  double shown = std::nan("");
  double sum = 0;
  double weight = 0;  ///< mean = sum / weight: seconds for rates, the number of values for levels
};

class ViewBuilder {
 public:
  /// @param range t0_ns < t1_ns  @param pixels at least 1
  /// @param fine buckets of kFineLodRows, as columns of the frames of samples that they were made of
  ViewBuilder(std::span<const model::SeriesId> series, model::TimeRange range, uint32_t pixels,
              VisitBlocksFn visit_blocks, ColumnCache& fine);

  std::vector<model::SeriesView> Build(std::span<const ViewStream> streams);

 private:
  struct Bin {
    int64_t count = 0;
    double low = 0, high = 0, sum = 0, weight = 0;  // low and high hold once weight > 0

    void Add(const ViewValue& value) {
      ++count;
      if (std::isnan(value.shown)) return;
      low = weight > 0 ? std::min(low, value.shown) : value.shown;
      high = weight > 0 ? std::max(high, value.shown) : value.shown;
      sum += value.sum;
      weight += value.weight;
    }
  };

  int64_t CountRows(const StreamRows& rows) const;
  void AddExact(const ViewStream& stream, std::span<const ViewColumn> columns);
  void AddBins(const ViewStream& stream, std::span<const ViewColumn> columns);
  /// Adds the buckets of a level that fit into bins. @return the times that are still uncovered
  std::vector<model::TimeRange> AddLevel(const StreamRows& lod, int64_t first_ns, std::span<const ViewColumn> columns,
                                         std::span<const model::TimeRange> uncovered);
  /// The same with fine buckets, which it makes of samples where there are none yet.
  std::vector<model::TimeRange> AddFine(const StreamRows& samples, std::span<const ViewColumn> columns,
                                        std::span<const model::TimeRange> uncovered);
  /// Indexes of frames whose fine buckets are short enough for the bins; none where `fine` cannot hold them all.
  std::vector<size_t> FineFrames(std::span<const FrameRef> frames, std::span<const model::TimeRange> uncovered,
                                 size_t columns) const;
  void MakeFine(const StreamRows& frames, const std::vector<bool>& is_made, std::span<const ViewColumn> columns,
                const std::function<void(const FrameRef&, const model::Batch&)>& take);
  void AddBuckets(std::span<const std::span<const int64_t>> block, int64_t first_ns,
                  std::span<const ViewColumn> columns, RangeCursor& cursor, std::vector<model::TimeRange>& covered);
  void AddRaw(const StreamRows& samples, std::span<const ViewColumn> columns,
              std::span<const model::TimeRange> uncovered);
  size_t BinOf(int64_t t_ns) const;
  void FinishExact(model::SeriesView& view) const;
  void FinishBins(size_t view_index);

  const model::TimeRange range_;
  const uint64_t bin_ns_;  // bins lie on multiples of it, so that panning does not change them
  const size_t max_exact_;
  const size_t bin_count_;
  const VisitBlocksFn visit_blocks_;
  ColumnCache& fine_;
  std::vector<model::SeriesView> views_;
  std::vector<std::vector<Bin>> bins_;
  std::vector<model::StepSpreader> steps_;  ///< of the bins
};

}  // namespace attune::store
