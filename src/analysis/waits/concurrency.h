#pragma once
/// How many threads of a process could go on, over its time: from the overlap of their waits.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/waits/sync_sums.h"
#include "analysis/waits/thread_lives.h"
#include "model/source.h"

namespace attune::analysis {

/// A process's members are the threads that take part in its work: those that do something else than wait for at least
/// a fiftieth of their life. An idle helper is none.
struct Member {
  ThreadLife life;
  int64_t active_ns = 0;  ///< of its life, without its waits
};

struct Concurrency {
  std::vector<Member> members;
  double several_ns = 0;  ///< time in which there were two members or more that did not wait for a thread's end
  double serial_ns = 0;   ///< of that, in which at most one of them did not wait
  double others_ns = 0;   ///< the time of all members but one, meanwhile
  double waiting_ns = 0;  ///< what members waited, meanwhile; at most others_ns
};

/// Takes events in blocks. Time is cut into kBins of equal length, in each of which the waits are averaged, so that
/// memory is bounded whatever the number of events. @cost 20 ns a wait, and its length in bins
class ConcurrencyReader {
 public:
  static constexpr size_t kBins = 4096;
  static constexpr size_t kMaxProcesses = 64;  ///< those with most waiting

  ConcurrencyReader(const SyncSums& sums, const std::vector<ThreadLife>& lives);
  void Add(const model::EventBlock& block);
  /// By process; those with less than two members are left out. Call once, after the last block.
  std::map<model::ElementId, Concurrency> Finish();

 private:
  struct Bin {
    float alive = 0;  ///< members, on average
    float waiting = 0;
    float joining = 0;  ///< waiting for a thread's end: they have nothing to do meanwhile
  };
  struct Process {
    Concurrency result;
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
    std::vector<Bin> bins;

    double BinNs() const { return static_cast<double>(end_ns - start_ns) / static_cast<double>(kBins); }
    void Spread(int64_t from_ns, int64_t to_ns, float Bin::* what);
  };

  std::map<model::ElementId, Process> processes_;
  std::unordered_map<model::ElementId, Process*> process_of_;  ///< of the members
};

}  // namespace attune::analysis
