#pragma once
/// How well a process uses its threads: the efficiencies of the POP methodology, from CPU times (docs/findings.md).

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/waits/thread_times.h"
#include "analysis/waits/wait_summary.h"
#include "model/source.h"

namespace attune::analysis {

/// Efficiency of a process with at least two threads that do something else than wait. All parts are 0 to 1.
struct Efficiency {
  model::ElementId process = 0;
  int64_t pid = model::kAbsent;
  std::string name;
  int64_t threads = 0;         ///< that do something else than wait for at least a fiftieth of their life
  double runtime_ns = 0;       ///< from the start of the first one to the end of the last
  double useful_ns = 0;        ///< on a CPU, all of them together
  double load_balance = 0;     ///< useful time on average, by that of the thread that has most
  double synchronisation = 0;  ///< useful time of the thread that has most, by the runtime
  double waiting = 0;          ///< for each other, part of the runtime of all threads
  double queueing = 0;         ///< for a CPU, part of the same
  double sampled = 0;          ///< part of the threads' lives that samples cover

  /// Useful time by the runtime of all threads.
  double Parallel() const { return load_balance * synchronisation; }
};

/// Largest runtime of all threads first; processes that were not sampled are left out.
std::vector<Efficiency> Efficiencies(const model::Metadata& meta, const WaitTables& waits, const ThreadTimes& times);

}  // namespace attune::analysis
