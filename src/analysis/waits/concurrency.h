#pragma once
/// How many threads of a process could go on, over its time: from the overlap of their waits.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/operators/time_grid.h"
#include "analysis/waits/sync_sums.h"
#include "analysis/waits/thread_lives.h"
#include "model/source.h"

namespace attune::analysis {

/// A process's members are the threads that take part in its work: those that do something else than wait for at least
/// a fiftieth of their life. An idle helper is none.
struct Member {
  ThreadLife life;
  int64_t active_ns = 0;  ///< its life without its waits
};

struct Concurrency {
  std::vector<Member> members;
  double several_ns = 0;  ///< time in which there were two members or more that had something to do
  double serial_ns = 0;   ///< part of several_ns in which at most one of them did not wait
  double others_ns = 0;   ///< the time of all members but one, meanwhile
  double waiting_ns = 0;  ///< wait time of members, meanwhile; at most others_ns
};

/// Adds up what each thread waits, by parts of time in which the waits are averaged. Bounded: kMaxCells parts of all
/// threads together, which become longer when there are more. @cost 20 ns a wait, and its length in parts
class ConcurrencyOperator final : public Operator {
 public:
  static constexpr size_t kMaxCells = size_t{1} << 22;
  static constexpr size_t kMaxProcesses = 64;  ///< those with most waiting

  explicit ConcurrencyOperator(TimeGrid grid = {}) : grid_(grid) {}

  EventKinds Kinds() const override { return kWaitEvents; }
  void AddEvents(const model::EventBlock& block) override;
  /// By process; those with less than two members are left out.
  std::map<model::ElementId, Concurrency> Snapshot(const SyncSums& sums, const std::vector<ThreadLife>& lives) const;

 private:
  /// Nanoseconds, by part of time.
  struct Thread {
    std::vector<float> waiting;
    std::vector<float> idling;  ///< it has nothing to do meanwhile (IsIdling)
  };

  /// A part of time of one thread.
  struct Cell {
    model::ElementId thread = 0;
    bool is_idling = false;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    float* ns = nullptr;
  };

  /// @return where it ended, until the next call; none where that has become another one
  Cell Add(model::ElementId id, bool is_idling, int64_t start_ns, int64_t end_ns);
  /// @param joined how often the parts of `grid` are twice as long as those that are kept
  Concurrency Judge(std::vector<Member> members, const TimeGrid& grid, int joined) const;
  void Join();

  TimeGrid grid_;
  std::unordered_map<model::ElementId, Thread> threads_;
  size_t cells_ = 0;
};

}  // namespace attune::analysis
