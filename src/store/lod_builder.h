#pragma once
/// Makes the level-of-detail rows of one stream of samples (see lod.h).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/schema.h"
#include "store/lod.h"

namespace attune::store {

/// @thread one at a time  @cost about 2 ns a value
class LodBuilder {
 public:
  /// @param is_counter one for each series of the stream. @pre MayHaveLod(stream, is_counter.size())
  LodBuilder(model::StreamId stream, std::vector<bool> is_counter);

  /// Takes the next rows of the stream and returns the buckets that they complete: at most one batch a level.
  /// @pre samples has one column a series after the time
  std::vector<model::Batch> Add(const model::Batch& samples);

  size_t SeriesCount() const { return is_counter_.size(); }

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

  void AddRows(const model::Batch& samples, size_t first, size_t end);
  void AddColumn(size_t series, std::span<const int64_t> t_ns, std::span<const int64_t> values);
  void CloseBucket(size_t level, int64_t t1_ns);

  const model::StreamId stream_;
  const std::vector<bool> is_counter_;
  std::array<Bucket, kLodLevels> open_;
  std::array<model::Batch, kLodLevels> done_;
  int64_t previous_t_ns_ = 0;
  std::vector<int64_t> previous_;
};

}  // namespace attune::store
