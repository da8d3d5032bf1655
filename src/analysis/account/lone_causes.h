#pragma once
/// Why one thread alone could run: work that only one thread does, threads that are not there yet, or threads that have
/// nothing left to do (docs/findings.md: serial-section, late-start, tail-imbalance).

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "analysis/account/code_tree.h"
#include "analysis/account/lone_times.h"
#include "analysis/waits/thread_lives.h"
#include "model/source.h"

namespace attune::analysis {

/// The stretches of one cause.
struct LoneSum {
  double alone_ns = 0;
  std::map<model::ElementId, double> by_thread;
  std::map<model::ElementId, double> running;  ///< CPU time in them by the samples, by thread
  int64_t stretches = 0;
  CodeTree code;        ///< call paths of the samples in them
  double woken_ns = 0;  ///< in which others waited to be woken by whoever was alone, at hooks or by the scheduler
  /// Late starts alone: places of pthread_create, and of the waits before them in the thread that calls it.
  std::map<model::ElementId, double> started_at;
  std::map<model::ElementId, double> waited_at;
  double starting_ns = 0;   ///< in which a process started: loaded its libraries, its interpreter
  double in_lock_step = 0;  ///< part of alone_ns by threads that never do what others do, and that others wait for
};

struct LoneCauses {
  bool is_exact = false;
  int64_t parallel_ns = 0;             ///< time in which two threads or more could run
  double parallel_threads = 0;         ///< in that time, on average
  std::set<model::ElementId> sharing;  ///< threads that did at once what others did
  LoneSum serial;                      ///< work that no two threads do at once
  LoneSum late;                        ///< work that several threads do later, before the first of them has company
  LoneSum tail;                        ///< work that several threads did before
};

/// @param names must be those of the samples' places  @cost 0.2 us a sample and stretch, and the waits that overlap it
LoneCauses FindLoneCauses(const LoneTimes& times, const std::vector<ThreadLife>& lives, const model::Metadata& meta,
                          const SampleSums& samples, const SiteNames& names);

}  // namespace attune::analysis
