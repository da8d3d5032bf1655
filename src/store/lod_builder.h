#pragma once
/// Makes the level-of-detail rows of one stream of samples (see lod.h).

#include <cstdint>
#include <span>
#include <vector>

#include "model/schema.h"
#include "model/series_values.h"
#include "store/lod.h"

namespace attune::store {

/// @thread one at a time  @cost about 2 ns a value
class LodBuilder {
 public:
  using Columns = std::span<const std::span<const int64_t>>;

  struct Column {
    bool is_counter = false;
    model::StepSpreader steps;
    int64_t previous = model::kAbsent;
  };

  /// @param series of the stream, in its order. @pre MayHaveLod(stream, series.size())
  LodBuilder(model::StreamId stream, std::span<const model::Series> series);
  /// @param level_rows rows of a bucket, as kLodRows; must outlive this
  LodBuilder(model::StreamId stream, std::vector<Column> columns, std::span<const uint32_t> level_rows);

  /// Takes the next rows of the stream and returns the buckets that they complete: at most one batch a level.
  /// @pre samples has one column a series after the time
  std::vector<model::Batch> Add(const model::Batch& samples);
  /// @param columns the times, then a column a series
  std::vector<model::Batch> Add(Columns columns);
  /// The bucket of the finest level that is not complete. @return no rows: there is none  @param t1_ns its end
  model::Batch Finish(int64_t t1_ns);

  size_t SeriesCount() const { return columns_.size(); }

 private:
  struct Cell {
    int64_t last = model::kAbsent, low = model::kAbsent, high = model::kAbsent, sum = 0, weight = 0;

    void AddValue(int64_t value, int64_t add_sum, int64_t add_weight);
    void Merge(const Cell& finer);
  };
  struct Bucket {
    int64_t t0_ns = 0;
    int64_t rows = 0;
    uint32_t parts = 0;  // rows, or buckets of the finer level
    std::vector<Cell> cells;
  };

  void Begin();
  void AddRows(Columns columns, size_t first, size_t end);
  void AddColumn(size_t index, std::span<const int64_t> t_ns, std::span<const int64_t> values);
  void CloseBucket(size_t level, int64_t t1_ns);

  const model::StreamId stream_;
  const std::span<const uint32_t> level_rows_;
  std::vector<Column> columns_;
  std::vector<Bucket> open_;
  std::vector<model::Batch> done_;
  int64_t previous_t_ns_ = 0;
};

}  // namespace attune::store
