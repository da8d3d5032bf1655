#pragma once
/// Batches of rows: what producers make, the pipeline hands to every sink, a frame encodes and a recording is a log of.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/table.h"

namespace attune::model {

/// Immutable once published. Columns all have `rows` entries.
struct Batch {
  Table table{};
  StreamId stream = 0;
  uint64_t sequence = 0;        ///< counts the batches of one (table, stream), from 0
  uint64_t dropped_before = 0;  ///< rows lost between the batch before and this one
  size_t rows = 0;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<std::string>> texts;
};
using BatchPtr = std::shared_ptr<const Batch>;

/// Smallest and largest value of the batch's time column; {0, 0} where it has none or no rows.
std::pair<int64_t, int64_t> TimeExtent(const Batch& batch);

}  // namespace attune::model
