#pragma once
/// The rounds of a barrier, and who came last to them.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// Sorts waits at one barrier by arrival and divides them into rounds. All who wait in one are there when the last one
/// comes, and nobody comes for the next one before one of them has gone on: waits that share a moment are one round.
/// @param interval_of gives (arrival, end) of a wait  @return parts of `waits`, in order of time
template <class Wait, class IntervalOf>
std::vector<std::span<Wait>> DivideIntoRounds(std::span<Wait> waits, const IntervalOf& interval_of) {
  std::ranges::stable_sort(waits, {}, interval_of);
  std::vector<std::span<Wait>> rounds;
  size_t begin = 0;
  int64_t first_end_ns = INT64_MAX;
  for (size_t i = 0; i < waits.size(); ++i) {
    const auto [arrival_ns, end_ns] = interval_of(waits[i]);
    if (arrival_ns > first_end_ns) {
      rounds.push_back(waits.subspan(begin, i - begin));
      begin = i;
      first_end_ns = INT64_MAX;
    }
    first_end_ns = std::min(first_end_ns, end_ns);
  }
  if (begin < waits.size()) rounds.push_back(waits.subspan(begin));
  return rounds;
}

/// A thread's wait at a barrier.
struct BarrierWait {
  int64_t arrival_ns = 0;
  int64_t end_ns = 0;
  model::ElementId thread = 0;
  model::ElementId site = 0;
};

/// Rounds in which a thread came last, and the waiting that it caused.
struct LateThread {
  model::ElementId thread = 0;
  int64_t rounds = 0;                              ///< in which it was the last to come
  int64_t caused_ns = 0;                           ///< waiting of all in these rounds
  std::map<model::ElementId, int64_t> by_site_ns;  ///< the same, by where it arrived
};

struct BarrierRounds {
  int64_t rounds = 0;
  int64_t threads = 0;           ///< that came at any time
  double participants = 0;       ///< a round, on average
  int64_t wait_ns = 0;           ///< in all rounds
  int64_t span_ns = 0;           ///< sum over barriers: from the first arrival to the end of the last wait
  std::vector<LateThread> late;  ///< most caused first
};

/// Takes the waits at barriers and adds up their rounds. Bounded: waits are kept until their round is over.
class BarrierWaits final : public Operator {
 public:
  EventKinds Kinds() const override { return {wire::EventKind::kWait}; }
  void AddEvents(const model::EventBlock& block) override;
  void Add(model::ElementId barrier, const BarrierWait& wait);

  /// Adds several barriers together; only waits at the same barrier meet.
  BarrierRounds RoundsAt(std::span<const model::ElementId> barriers) const;

 private:
  /// The rounds of one barrier, added up.
  struct Sums {
    int64_t rounds = 0;
    int64_t participants = 0;  ///< sum over all rounds
    int64_t wait_ns = 0;
    int64_t first_ns = INT64_MAX;  ///< first arrival
    int64_t last_ns = 0;           ///< end of the last wait
    std::map<model::ElementId, LateThread> late;
    std::set<model::ElementId> threads;

    void Add(std::span<const BarrierWait> round);
  };
  struct Barrier {
    Sums settled;
    std::vector<BarrierWait> open;
    size_t many = size_t{1} << 12;
  };

  static void Settle(Barrier& barrier);

  std::map<model::ElementId, Barrier> barriers_;
};

}  // namespace attune::analysis
