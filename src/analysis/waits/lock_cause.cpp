#include "analysis/waits/lock_cause.h"

#include <algorithm>

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

double HoldOf(const std::map<ElementId, SyncCounts>& threads, ElementId thread) {
  const auto found = threads.find(thread);
  return found == threads.end() ? 0 : found->second.EstimatedHoldNs();
}

/// Hold time of the other threads at `cause` that keeps `thread` from getting the lock; readers hinder no reader.
double Hindrance(const LockCause& cause, const ObjectSums& lock, ElementId thread, SyncKind waits_as) {
  if (waits_as == SyncKind::kReadLock && cause.kind == SyncKind::kReadLock) return 0;
  return std::max(0.0, cause.hold_ns - HoldOf(lock.places.at({cause.site, cause.kind}), thread));
}

LockCause CauseAt(const ObjectSums::Place& place, const std::map<ElementId, SyncCounts>& threads) {
  LockCause cause{.site = place.first, .kind = place.second};
  for (const auto& [thread, counts] : threads) {
    cause.hold_ns += counts.EstimatedHoldNs();
    AddTo(cause.count, counts.count);
    AddTo(cause.holds, counts.holds);
  }
  return cause;
}

void SortByCaused(std::vector<LockCause>& causes) {
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.caused_ns > b.caused_ns; });
}

}  // namespace

std::vector<LockCause> LockCauses(const ObjectSums& lock, const std::vector<Blame>& blames) {
  std::map<ElementId, LockCause> by_site;
  for (const auto& [place, threads] : lock.places) {
    // A place that reads and writes counts as the kind with the longer hold time.
    const LockCause cause = CauseAt(place, threads);
    LockCause& known = by_site[place.first];
    if (known.site == 0 || cause.hold_ns > known.hold_ns) known = cause;
  }
  for (const Blame& blame : blames) {
    LockCause& cause = by_site[blame.site];
    cause.site = blame.site;
    cause.caused_ns += static_cast<double>(blame.wait_ns);
  }
  std::vector<LockCause> causes;
  for (const auto& [site, cause] : by_site) {
    if (cause.caused_ns > 0) causes.push_back(cause);
  }
  SortByCaused(causes);
  return causes;
}

std::vector<LockCause> EstimateLockCauses(const ObjectSums& lock) {
  std::vector<LockCause> causes;
  for (const auto& [place, threads] : lock.places) {
    const LockCause cause = CauseAt(place, threads);
    if (cause.holds > 0) causes.push_back(cause);
  }
  std::vector<double> hindrance(causes.size());
  for (const auto& [place, threads] : lock.places) {
    for (const auto& [thread, counts] : threads) {
      if (counts.wait_ns <= 0) continue;
      double sum = 0;
      for (size_t i = 0; i < causes.size(); ++i) sum += hindrance[i] = Hindrance(causes[i], lock, thread, place.second);
      if (sum <= 0) continue;
      for (size_t i = 0; i < causes.size(); ++i)
        causes[i].caused_ns += static_cast<double>(counts.wait_ns) * hindrance[i] / sum;
    }
  }
  SortByCaused(causes);
  return causes;
}

}  // namespace attune::analysis
