#include "analysis/waits/own_lock.h"

#include <algorithm>

namespace attune::analysis {
namespace {

constexpr double kMutual = 0.8;      ///< part of the waits or wake-ups matched by others of the same thread
constexpr double kOneAtATime = 0.8;  ///< wake-ups for each wait
constexpr double kSomeWakes =
    0.25;  ///< the same of two threads, who often get the lock while they yield (std::atomic::wait)
constexpr int64_t kFewWaits = 4;

struct Turns {
  int64_t woken = 0;
  int64_t wakes = 0;
};

}  // namespace

bool IsOwnLock(const ObjectSums& object) {
  if (object.kind != wire::SyncKind::kFutex) return false;
  std::map<model::ElementId, Turns> by_thread;
  for (const auto& [place, threads] : object.places) {
    for (const auto& [thread, counts] : threads) {
      const bool is_wake = place.second == wire::SyncKind::kWake;
      AddTo(is_wake ? by_thread[thread].wakes : by_thread[thread].woken,
            std::max<int64_t>(0, is_wake ? counts.count : std::min(counts.count, counts.waits)));
    }
  }
  Turns all;
  int64_t mutual = 0;
  int waiters = 0;
  for (const auto& [thread, turns] : by_thread) {
    AddTo(all.woken, turns.woken);
    AddTo(all.wakes, turns.wakes);
    AddTo(mutual, std::min(turns.woken, turns.wakes));
    if (turns.woken > 0) ++waiters;
  }
  // One wake-up of two threads is of one of them.
  const double least_wakes = waiters == 2 ? kSomeWakes : kOneAtATime;
  return waiters > 1 && mutual >= kFewWaits && PartOf(mutual, std::min(all.woken, all.wakes)) >= kMutual &&
         PartOf(all.wakes, all.woken) >= least_wakes;
}

}  // namespace attune::analysis
