#pragma once
/// Blame: attributes each wait to the threads that had the object meanwhile (docs/waits.md).
///
/// From level blame on, whoever releases a lock that others wait for says so, and where it had acquired it (event kind
/// hand_over). Those moments divide a wait: the time up to the first of them was the first releaser's, the time between
/// two of them the second one's. What is left behind the last one is how long the waiter took to come back: it is the
/// last releaser's too. A wait for a condition or a semaphore is given to whoever woke the thread up.

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/waits/event_order.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// Waits for one object that one thread, at one place in the code, caused another one.
struct Blame {
  model::ElementId site = 0;
  model::ElementId thread = 0;
  model::ElementId waiter = 0;
  int64_t waits = 0;  ///< in which it had a part
  int64_t wait_ns = 0;

  bool operator==(const Blame&) const = default;
};

/// By object, most first. Objects of which nobody was seen to release them are not there.
using BlameByObject = std::unordered_map<model::ElementId, std::vector<Blame>>;

/// Takes events of kinds wait and hand_over in order of time. Bounded: of an object the last kMaxHandOvers are known.
class BlameCounter {
 public:
  static constexpr size_t kMaxHandOvers = 1u << 16;

  void Add(const model::Event& event);
  /// As of what came by now.
  BlameByObject Blames() const;

 private:
  using Holder = std::pair<model::ElementId, model::ElementId>;  // site, thread
  struct HandOver {
    int64_t t_ns;
    model::ElementId thread;
    uint32_t holder;  ///< index into `holders`
  };
  /// Waits of one thread that a holder caused.
  struct Part {
    int64_t waits = 0;
    int64_t wait_ns = 0;
    int64_t last_wait = 0;  ///< number of the wait that was counted last
  };
  /// With many threads at one lock, each wait visits the hand-overs of all: the cost of each is kept to one
  /// addition.
  struct Object {
    std::deque<HandOver> hand_overs;
    std::map<Holder, uint32_t> numbers;  ///< by holder: index into `holders`
    std::vector<Holder> holders;
    std::unordered_map<model::ElementId, std::vector<Part>> waiters;  ///< by thread, then parallel to holders
    int64_t waits = 0;
  };

  static void Divide(Object& object, int64_t t0_ns, int64_t t1_ns, model::ElementId waiter);
  /// To the last hand-over behind `since_ns`, if there is one.
  static void GiveToLast(Object& object, int64_t since_ns, int64_t t0_ns, int64_t t1_ns, model::ElementId waiter);
  static std::vector<Part>& PartsOf(Object& object, model::ElementId waiter);

  std::unordered_map<model::ElementId, Object> objects_;
};

/// Hands over the events of kinds wait and hand_over in order of time; what is released at the end of a wait comes
/// before that. @cost about 0.1 us an event of any kind; memory for what has not settled
Status VisitWaits(model::Source& source, const EventOrder::Visitor& visit);

/// Blames of a whole recording. @cost as VisitWaits
Result<BlameByObject> BlameHolders(model::Source& source);

}  // namespace attune::analysis
