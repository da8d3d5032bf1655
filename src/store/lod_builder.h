#pragma once
/// Makes the level-of-detail rows of one stream of samples (see lod.h).

#include <array>
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
  /// @param series of the stream, in its order. @pre MayHaveLod(stream, series.size())
  LodBuilder(model::StreamId stream, std::span<const model::Series> series);

  /// Takes the next rows of the stream and returns the buckets that they complete: at most one batch a level.
  /// @pre samples has one column a series after the time
  std::vector<model::Batch> Add(const model::Batch& samples);

  size_t SeriesCount() const { return columns_.size(); }

 private:
  struct Cell {
    int64_t last = model::kAbsent, low = model::kAbsent, high = model::kAbsent, sum = 0, weight = 0;

    void AddValue(int64_t value, int64_t add_sum, int64_t add_weight);
    void Merge(const Cell& finer);
  };
  struct Column {
    bool is_counter = false;
    model::StepSpreader steps;
    int64_t previous = model::kAbsent;
  };
  struct Bucket {
    int64_t t0_ns = 0;
    int64_t rows = 0;
    uint32_t parts = 0;  // rows, or buckets of the finer level
    std::vector<Cell> cells;
  };

  void AddRows(const model::Batch& samples, size_t first, size_t end);
  void AddColumn(size_t index, std::span<const int64_t> t_ns, std::span<const int64_t> values);
  void CloseBucket(size_t level, int64_t t1_ns);

  const model::StreamId stream_;
  std::vector<Column> columns_;
  std::array<Bucket, kLodLevels> open_;
  std::array<model::Batch, kLodLevels> done_;
  int64_t previous_t_ns_ = 0;
};

}  // namespace attune::store
