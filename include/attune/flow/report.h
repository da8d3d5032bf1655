#pragma once
/// Report of a run of a graph: how it ended, what each kernel cost, what the scheduler decided. Part of
/// attune/flow.h.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace attune::flow {

enum class Outcome {
  kDone,       ///< no instance can run any more, or the limit was reached
  kFailed,     ///< `error` says why
  kCancelled,  ///< RunningGraph::Cancel() was called
  kStarved,    ///< instances were left that wait for elements that nobody stored: `waiting` names them
  kTimedOut,   ///< an instance ran longer than RunOptions::kernel_timeout: `error` names it
};

enum class ErrorKind {
  kNone,
  kFile,         ///< the file of RunOptions::keep cannot be made
  kGraph,        ///< the graph cannot run: a cycle within one age, two kernels of one name, ...
  kOptions,      ///< RunOptions::scheduler, nodes or implementation are none for this graph or machine
  kStoredTwice,  ///< an element was stored again
  kHole,         ///< an element within the extents of a complete age was read, but nobody had stored it
  kOutside,      ///< an index beyond the extents was read, or beyond RunOptions::max_extent was stored
  kExtents,      ///< two fetches bind one index variable to different extents
  kException,    ///< a kernel has thrown
  kMemory,       ///< there is no memory for an age of a field
  kTimeout,      ///< an instance ran longer than RunOptions::kernel_timeout
};

/// One error, with the instance that it is about. A run ends at the first one.
struct Error {
  ErrorKind kind = ErrorKind::kNone;
  std::string kernel;          ///< empty: not about a kernel
  std::string field;           ///< empty: not about a field
  int64_t age = -1;            ///< of the instance; -1: it has none
  std::vector<int64_t> index;  ///< of the instance
  std::string what;            ///< the whole as one sentence, with field, its age and index
};

inline constexpr int kHistogramBuckets = 40;

/// Bytes of a field that a kernel has moved, by a fetch or a store.
struct FieldBytes {
  std::string field;
  double bytes = 0;
  int64_t age = 0;       ///< that it uses: added to the age of the instance, or fixed
  bool fixed = false;    ///< always the same age, or a field without ages
  bool streams = false;  ///< of a fetch: instances start as soon as their elements are there
};

/// The cost of one kernel until now. Times come from samples of whole ranges of instances, scaled to all instances.
struct KernelCost {
  std::string kernel;
  int64_t instances = 0;            ///< exact
  int64_t ranges = 0;               ///< exact: how often the kernel was dispatched
  int64_t ages = 0;                 ///< exact
  int64_t timed = 0;                ///< instances in the samples
  double dispatch_ns = 0;           ///< all instances: finding, claiming and handing on, without the body
  double kernel_ns = 0;             ///< all instances: the body
  std::vector<FieldBytes> fetches;  ///< all instances: bytes of the slices that they fetched, a row a slice
  std::vector<FieldBytes> stores;   ///< all instances: bytes that they stored
  int64_t deadlines_missed = 0;
  double longest_ns = 0;       ///< sum over its ages: the longest timed range of each
  bool ordered = false;        ///< one age after the other: kOrdered, and sources
  int64_t grain = 1;           ///< instances a range at the end
  std::string implementation;  ///< "avx2": the code that ran, of kernels that have several; empty: there is only one
  std::string fused_into;      ///< the kernel behind which this one runs without a barrier; empty: none
  /// Instances by time of the body: bucket b holds those of [2^b, 2^(b+1)) ns, as the mean of their range.
  std::array<int64_t, kHistogramBuckets> histogram = {};

  double dispatch_ns_each() const { return instances == 0 ? 0 : dispatch_ns / static_cast<double>(instances); }
  double kernel_ns_each() const { return instances == 0 ? 0 : kernel_ns / static_cast<double>(instances); }
  double bytes_in() const { return Sum(fetches); }
  double bytes_out() const { return Sum(stores); }
  /// Upper end of the bucket in which this share of the instances ends, in ns. @param share 0.5: the median
  double Quantile(double share) const;

 private:
  static double Sum(const std::vector<FieldBytes>& slices) {
    double bytes = 0;
    for (const FieldBytes& slice : slices) bytes += slice.bytes;
    return bytes;
  }
};

/// A decision of the scheduler.
struct Decision {
  int64_t t_ns = 0;               ///< since the start of the run
  std::string kernel;             ///< empty: the run as a whole
  std::string change;             ///< "grain 1 -> 64", "fuse mul2 + plus5", "split mul2 + plus5", "threads 4 -> 2"
  std::string reason;             ///< with the figures that it follows from
  double dispatch_ns_before = 0;  ///< an instance, when it was decided
  double dispatch_ns_after = 0;   ///< an instance, at the next decision or at the end; 0: not measured
};

/// Checksum of everything that was stored in a field. It does not depend on order: of two runs it differs if one
/// element of one age does. Padding bytes of structs count.
struct FieldSum {
  std::string field;
  uint64_t checksum = 0;
  int64_t elements = 0;
  int64_t ages = 0;  ///< complete ones with an element
};

struct Report {
  Outcome outcome = Outcome::kDone;
  Error error;
  std::vector<std::string> waiting;  ///< at most 16, see Outcome::kStarved
  std::vector<KernelCost> kernels;   ///< in the order of the graph
  std::vector<FieldSum> fields;      ///< with RunOptions::checksum only; in the order of the graph
  std::vector<Decision> decisions;   ///< the newest 4096
  int64_t wall_ns = 0;
  std::string
      keep_problem;        ///< why RunOptions::keep has not got everything, from where on nothing was written; or empty
  int64_t peak_bytes = 0;  ///< the most that fields had at a time, without what is kept for reuse

  bool ok() const { return outcome == Outcome::kDone; }
  /// For main(): 0 done, 1 failed, 2 cancelled, 3 starved, 4 timed out.
  int ExitCode() const { return static_cast<int>(outcome); }
  /// nullptr: there is no such kernel.
  const KernelCost* Find(const std::string& kernel) const;
  /// "Kernel, Instances, Dispatch Time, Kernel Time", the times in us an instance, as P2G prints it.
  std::string ThesisTable() const;
  /// Instances, ranges, grain, dispatch and body with median and 99th percentile, share of the time, bytes.
  std::string Table() const;
  /// The outcome in one sentence, and what instances wait for.
  std::string Describe() const;
};

}  // namespace attune::flow
