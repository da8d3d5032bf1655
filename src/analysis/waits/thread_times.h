#pragma once
/// Scheduling of the program's threads: from the series of the sensor `thread`.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/operators/time_grid.h"
#include "analysis/waits/thread_lives.h"
#include "model/source.h"

namespace attune::analysis {

/// Times of one thread, from its start to its end. Those after the last sample are extrapolated from those before it.
struct ThreadTime {
  double run_ns = 0;    ///< on a CPU
  double queue_ns = 0;  ///< it could have run, but no CPU was free
  double io_ns = 0;     ///< it waited for a block device; 0 also where that was not recorded
  double life_ns = 0;
  double sampled = 0;  ///< part of its life that the samples cover, 0 to 1
};

/// A stretch of the recording; all are of the same length.
struct ThreadTimeBin {
  double run_ns = 0;  ///< CPU time of all threads
  double queue_ns = 0;

  ThreadTimeBin& operator+=(const ThreadTimeBin& other) {
    run_ns += other.run_ns;
    queue_ns += other.queue_ns;
    return *this;
  }
};

struct ThreadTimes {
  std::unordered_map<model::ElementId, ThreadTime> by_thread;  ///< empty: not recorded, or the program was too brief
  std::vector<ThreadTimeBin> bins;
  double bin_ns = 0;
};

/// Takes the samples of the sensor `thread`. Bounded: sums for each thread, and for parts of time.
class ThreadTimesOperator final : public Operator {
 public:
  /// Sees how long a thread ran and queued between two of its samples.
  using Visit = std::function<void(model::ElementId thread, model::TimeRange range, double run_ns, double queue_ns)>;

  explicit ThreadTimesOperator(TimeGrid grid = {}, Visit visit = {}) : grid_(grid), visit_(std::move(visit)) {}

  void Learn(const std::shared_ptr<const model::Metadata>& meta) override { meta_ = meta; }
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  /// @param lives of the program's threads; others are left out
  ThreadTimes Snapshot(const std::vector<ThreadLife>& lives) const;

 private:
  /// Last sample of a thread; the counters are its own, from its start.
  struct Thread {
    bool is_begun = false;
    int64_t t_ns = 0;
    double run_ns = 0;
    double queue_ns = 0;
    double io_ns = 0;
  };
  /// Places in a block.
  struct Place {
    model::ElementId thread = 0;
    size_t run = 0, queue = 0;
    std::optional<size_t> io;
    double factor = 1;
  };

  void Add(const Place& place, const model::SampleBlock& block);
  int64_t StartOf(model::ElementId thread, int64_t t_ns) const;
  void AddToBins(int64_t from_ns, int64_t to_ns, double run_ns, double queue_ns);

  std::shared_ptr<const model::Metadata> meta_;
  std::map<model::StreamId, std::vector<Place>> places_;
  std::unordered_map<model::ElementId, Thread> threads_;
  TimeGrid grid_;
  Visit visit_;  ///< may be empty
  std::vector<ThreadTimeBin> bins_;
};

}  // namespace attune::analysis
