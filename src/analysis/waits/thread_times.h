#pragma once
/// What the scheduler did with the program's threads: from the series of the sensor `thread`.

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/waits/thread_lives.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// Of one thread, from its start to its end. What came after the last sample is as what came before it.
struct ThreadTime {
  double run_ns = 0;    ///< on a CPU
  double queue_ns = 0;  ///< it could have run, but no CPU was free
  double io_ns = 0;     ///< it waited for a block device; 0 also where that was not recorded
  double life_ns = 0;
  double sampled = 0;  ///< part of its life that the samples cover, 0 to 1
};

/// A stretch of the recording; all are of the same length.
struct ThreadTimeBin {
  double run_ns = 0;  ///< of all threads
  double queue_ns = 0;
};

struct ThreadTimes {
  static constexpr size_t kBins = 4096;

  std::unordered_map<model::ElementId, ThreadTime> by_thread;  ///< empty: not recorded, or the program was too brief
  std::vector<ThreadTimeBin> bins;                             ///< from range.t0_ns to range.t1_ns
  model::TimeRange range;

  double BinNs() const {
    return static_cast<double>(range.t1_ns - range.t0_ns) / static_cast<double>(std::max<size_t>(1, bins.size()));
  }
};

/// @param lives of the program's threads; others are left out
/// @cost reads three columns a thread, every row
Result<ThreadTimes> ReadThreadTimes(model::Source& source, const model::Metadata& meta,
                                    const std::vector<ThreadLife>& lives);

}  // namespace attune::analysis
