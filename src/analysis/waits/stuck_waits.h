#pragma once
/// Waits that last, and threads that wait for each other in a circle so that none of them can go on.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/waits/thread_lives.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

/// A wait of at least half a second that has not ended, or ended only with its thread.
struct StuckWait {
  model::ElementId thread = 0;
  model::ElementId object = 0;
  model::ElementId site = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  int64_t since_ns = 0;
  int64_t until_ns = 0;        ///< end of the thread, or the last moment that is known
  model::ElementId owner = 0;  ///< the thread that has the lock, or that is to be joined; 0: not known
  std::map<model::ElementId, model::ElementId> held;  ///< locks that the thread had as it began to wait: where from
};

/// Threads of which each waits for the next, and the last one for the first; one alone waits for itself.
using WaitCircle = std::vector<StuckWait>;

/// Takes long waits, and what follows them. Bounded: one wait for each thread.
class StuckWaits final : public Operator {
 public:
  /// All: any other event of a thread is the end of its wait.
  EventKinds Kinds() const override { return EventKinds::All(); }
  void AddEvents(const model::EventBlock& block) override;

  /// @param lives of the program's threads  @param now_ns until when what goes on has lasted
  std::vector<WaitCircle> Circles(const std::vector<ThreadLife>& lives, int64_t now_ns) const;

 private:
  struct Thread {
    StuckWait wait;          ///< object 0: it waits for nothing
    bool has_ended = false;  ///< at wait.until_ns
    int64_t order_ns = 0;    ///< time of the events in `held`
    std::map<model::ElementId, model::ElementId> held;
  };

  void SetWait(Thread& thread, const StuckWait& wait);

  std::unordered_map<model::ElementId, Thread> threads_;
  int64_t waiting_ = 0;  ///< threads whose wait has an object
};

}  // namespace attune::analysis
