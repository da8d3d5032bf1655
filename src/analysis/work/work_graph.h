#pragma once
/// Kernels of a task runtime as it tells them itself (include/attune/work.h): how many instances, what they and their
/// dispatch cost, which data they hand to each other.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/operators/operator.h"

namespace attune::analysis {

struct WorkKernel {
  std::string name;
  int64_t instances = 0;
  int64_t ages = 0;         ///< 0: the runtime has none
  int64_t ranges = 0;       ///< in which they were dispatched; 0: not told
  int64_t grain = 0;        ///< instances that are dispatched together, at last; 0: not told
  int64_t at_once = 0;      ///< instances that may run at once; 0: any number
  bool is_ordered = false;  ///< one age after the other
  double dispatch_ns = 0;   ///< of all instances
  double body_ns = 0;       ///< of all instances
  double longest_ns = 0;    ///< the longest range of each age, all ages together
  std::string runs_behind;  ///< the kernel behind which it runs without a barrier, at last; empty: none

  double all_ns() const { return dispatch_ns + body_ns; }
};

/// Bytes that a kernel has read from a field, or written to it.
struct WorkData {
  std::string kernel;
  std::string field;
  bool is_store = false;
  double bytes = 0;
  bool has_age = false;  ///< the runtime says which
  int64_t age = 0;       ///< that is used: added to the age of the instance, or fixed
  bool is_fixed = false;
  bool is_streamed = false;  ///< instances start before the age is complete
};

struct WorkGraph {
  std::vector<WorkKernel> kernels;  ///< most time first
  std::vector<WorkData> data;       ///< by kernel and field
  int64_t threads = 0;              ///< at last; 0: not told
  double wall_ns = 0;               ///< of all runs; 0: not told
};

/// True for the counters of a program that are part of this.
bool IsWork(std::string_view counter);

/// All that the runtimes did: before the first sample all sums were 0.
inline constexpr model::TimeRange kWholeRun{INT64_MIN, INT64_MAX};

/// Takes the counters of all processes, whose kernels of one name are one. Bounded by the names of counters, of which a
/// program has some thousands. @param range that is asked for
class WorkSums final : public Operator {
 public:
  explicit WorkSums(model::TimeRange range = kWholeRun) : range_(range) {}
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  WorkGraph Graph() const;

 private:
  struct Counter {
    std::string name;
    int64_t before = 0;  ///< at the begin of the range
    int64_t last = 0;    ///< at its end
  };
  model::TimeRange range_;
  std::map<model::SeriesId, Counter> counters_;
  std::map<model::StreamId, std::vector<Counter*>> counters_of_;
};

}  // namespace attune::analysis
