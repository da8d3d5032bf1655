#pragma once
/// Wait graph: the other thread and the moment that ended each wait. Input of the critical path and the what-ifs.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/waits/thread_lives.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

/// A wait, and what ended it.
struct GraphWait {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t released_ns = 0;  ///< when the other thread ended it, between start and end
  uint32_t thread = 0;      ///< index into WaitGraph::threads
  int32_t releaser = -1;    ///< the other thread; -1: not known, or nobody (its time was up, it came last)
  int32_t round = -1;       ///< barrier round: index into WaitGraph::rounds
  model::ElementId object = 0;
  model::ElementId site = 0;  ///< call site of the wait
  wire::SyncKind kind = wire::SyncKind::kNone;

  bool IsKnown() const { return releaser >= 0; }
};

/// One process.
struct WaitGraph {
  model::ElementId process = 0;
  std::vector<ThreadLife> threads;  ///< the first thread first
  std::vector<GraphWait> waits;     ///< by their end
  /// Waits of each barrier round: indices into `waits`, by arrival.
  std::vector<std::vector<uint32_t>> rounds;
  std::vector<uint32_t> releases;  ///< indices of the waits that another thread ended, by when it did
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  int64_t LengthNs() const { return end_ns - start_ns; }
};

/// Most waits of a process; with more of them there is no graph.
inline constexpr size_t kMaxGraphWaits = size_t{1} << 21;
/// Times that are further from 0 (36 years) are none.
inline constexpr int64_t kMostGraphNs = int64_t{1} << 60;
constexpr bool IsGraphTime(int64_t ns) { return ns >= -kMostGraphNs && ns <= kMostGraphNs; }

/// Takes events in blocks and keeps the waits of a process with several threads, of that with the most thread time. Who
/// ended a wait is known
/// - for a lock, a condition or a semaphore from level blame on: who released or signalled it last within the wait;
/// - at a barrier: who came last;
/// - for a thread that is joined: the thread that ended last within the wait.
/// @cost 20 ns a wait, and their sorting; 72 bytes each
class WaitGraphBuilder final : public Operator {
 public:
  /// @param waits about so many will come
  explicit WaitGraphBuilder(const std::vector<ThreadLife>& lives, size_t waits = 0);
  WaitGraphBuilder(const WaitGraphBuilder&) = delete;  // it points into itself
  WaitGraphBuilder& operator=(const WaitGraphBuilder&) = delete;
  EventKinds Kinds() const override { return index_.empty() ? EventKinds() : kOrderedEvents; }
  void AddEvents(const model::EventBlock& block) override;
  /// Call once, after the last block. Without waits: there is no such process, or it has too many of them.
  WaitGraph Finish();

 private:
  /// A thread did something that others may have waited for.
  struct Moment {
    int64_t t_ns = 0;
    uint32_t thread = 0;
  };

  void AddRow(const model::EventBlock& block, size_t row);
  /// nullptr: it is not of the process.
  const uint32_t* IndexOf(model::ElementId thread);
  static void Known(GraphWait& wait, uint32_t thread, int64_t t_ns);
  void FindReleaser(GraphWait& wait) const;
  void FindRounds();
  void SortEnds();
  void FindEnded(GraphWait& wait) const;

  WaitGraph graph_;
  std::unordered_map<model::ElementId, uint32_t> index_;                  ///< by thread: index into WaitGraph::threads
  model::ElementId last_thread_ = 0;                                      ///< events of a thread come together
  const uint32_t* last_index_ = nullptr;                                  ///< its entry in index_; nullptr: none
  std::unordered_map<model::ElementId, std::vector<Moment>> hand_overs_;  ///< by object
  std::vector<Moment> ends_;                                              ///< ends of threads
  bool is_too_large_ = false;
};

}  // namespace attune::analysis
