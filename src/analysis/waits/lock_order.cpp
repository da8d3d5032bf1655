#include "analysis/waits/lock_order.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <optional>
#include <set>

#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

/// Steps that are looked at for all circles together: some tenths of a second.
constexpr int64_t kMaxTries = 2'000'000;

/// Places at which a lock is acquired for reading only.
class ReadPlaces {
 public:
  explicit ReadPlaces(const SyncSums& sums) : sums_(sums) {}

  bool OnlyReads(const LockAtPlace& place) const {
    const auto object = sums_.objects.find(place.lock);
    if (object == sums_.objects.end()) return false;
    const auto& places = object->second.places;
    return places.contains({place.site, SyncKind::kReadLock}) && !places.contains({place.site, SyncKind::kWriteLock});
  }

 private:
  const SyncSums& sums_;
};

/// Looks for a circle among the locks of one knot.
class CycleSearch {
 public:
  using Edges = std::map<ElementId, std::vector<LockStep>>;

  CycleSearch(const Edges& edges, const std::set<ElementId>& knot, const ReadPlaces& reads, int64_t& tries)
      : edges_(edges), knot_(knot), reads_(reads), tries_(tries) {}

  std::optional<std::vector<LockStep>> Shortest() {
    for (size_t length = 2; length <= std::min(LockOrders::kLongestCycle, knot_.size()); ++length) {
      for (const ElementId start : knot_) {
        path_.clear();
        if (Extend(start, start, length)) return path_;
      }
    }
    return std::nullopt;
  }

 private:
  /// Whether the two could be at their steps at the same time.
  bool GoTogether(const NestedAcquisition& a, const NestedAcquisition& b) const {
    return std::all_of(a.held.begin(), a.held.end(), [&](const LockAtPlace& mine) {
      const auto same =
          std::find_if(b.held.begin(), b.held.end(), [&](const LockAtPlace& other) { return other.lock == mine.lock; });
      return same == b.held.end() || (reads_.OnlyReads(mine) && reads_.OnlyReads(*same));
    });
  }

  /// Whether whoever asks has to wait for who is at `next`.
  bool IsInTheWay(const LockStep& asks, const LockStep& next) const {
    return !reads_.OnlyReads(asks.acquisition->wanted) || !reads_.OnlyReads(next.held);
  }

  /// Gives each step another thread, from the step `at` on.
  bool GiveThreads(size_t at) {
    if (at == path_.size()) return true;
    for (const auto& [thread, first_ns] : path_[at].acquisition->threads) {
      const auto end = path_.begin() + static_cast<std::ptrdiff_t>(at);
      if (--tries_ < 0) return false;
      if (std::any_of(path_.begin(), end, [&](const LockStep& step) { return step.thread == thread; })) continue;
      path_[at].thread = thread;
      if (GiveThreads(at + 1)) return true;
    }
    return false;
  }

  /// Each circle is looked for from its first lock on. @param lock that the next step has
  bool Extend(ElementId start, ElementId lock, size_t length) {
    const auto steps = edges_.find(lock);
    if (steps == edges_.end()) return false;
    for (const LockStep& step : steps->second) {
      if (--tries_ < 0) return false;
      const ElementId wanted = step.acquisition->wanted.lock;
      const bool is_last = path_.size() + 1 == length;
      if (is_last ? wanted != start : wanted <= start || !knot_.contains(wanted)) continue;
      if (!path_.empty() && !IsInTheWay(path_.back(), step)) continue;
      if (!std::all_of(path_.begin(), path_.end(), [&](const LockStep& other) {
            return other.acquisition->wanted.lock != wanted && GoTogether(*other.acquisition, *step.acquisition);
          }))
        continue;
      path_.push_back(step);
      if (is_last ? IsInTheWay(step, path_.front()) && GiveThreads(0) : Extend(start, wanted, length)) return true;
      path_.pop_back();
    }
    return false;
  }

  const Edges& edges_;
  const std::set<ElementId>& knot_;
  const ReadPlaces& reads_;
  int64_t& tries_;
  std::vector<LockStep> path_;
};

/// The locks that are in circles with each other: each set has at least two.
std::vector<std::set<ElementId>> FindKnots(const CycleSearch::Edges& edges) {
  std::map<ElementId, size_t> index;
  for (const auto& [held, steps] : edges) {
    index.emplace(held, index.size());
    for (const LockStep& step : steps) index.emplace(step.acquisition->wanted.lock, index.size());
  }
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(index.size());
  for (const auto& [held, steps] : edges) {
    for (const LockStep& step : steps) boost::add_edge(index[held], index[step.acquisition->wanted.lock], graph);
  }
  std::vector<size_t> component(index.size());
  if (!index.empty()) boost::strong_components(graph, component.data());
  std::map<size_t, std::set<ElementId>> knots;
  for (const auto& [lock, node] : index) knots[component[node]].insert(lock);
  std::vector<std::set<ElementId>> result;
  for (auto& [number, locks] : knots) {
    if (locks.size() >= 2) result.push_back(std::move(locks));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

void LockOrders::AddEvents(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (block.kind[i] != static_cast<int64_t>(wire::EventKind::kLockOrder)) continue;
    const auto thread = static_cast<ElementId>(block.thread[i]);
    const LockAtPlace wanted{static_cast<ElementId>(block.object[i]), static_cast<ElementId>(block.site[i])};
    const auto held = static_cast<ElementId>(block.a[i]);
    Pending& pending = pending_[thread];
    if (pending.t_ns != block.t_ns[i] || pending.wanted != wanted) {
      Keep(thread, pending);
      pending = {.t_ns = block.t_ns[i], .wanted = wanted, .held = {}};
    }
    if (held != wanted.lock) pending.held[held] = static_cast<ElementId>(block.b[i]);
  }
}

void LockOrders::Settle(int64_t before_ns) {
  std::erase_if(pending_, [&](const auto& each) {
    if (each.second.t_ns >= before_ns) return false;
    Keep(each.first, each.second);
    return true;
  });
}

void LockOrders::Keep(ElementId thread, const Pending& pending) {
  if (pending.held.empty()) return;
  Key key{pending.wanted, {}};
  for (const auto& [lock, site] : pending.held) key.second.push_back({lock, site});
  auto found = acquisitions_.find(key);
  if (found == acquisitions_.end()) {
    if (acquisitions_.size() == kMax) return;
    NestedAcquisition acquisition{.wanted = key.first, .held = key.second, .threads = {}};
    found = acquisitions_.emplace(std::move(key), std::move(acquisition)).first;
  }
  const auto [first, is_new] = found->second.threads.emplace(thread, pending.t_ns);
  if (!is_new) first->second = std::min(first->second, pending.t_ns);
}

std::vector<LockCycle> LockOrders::Cycles(const SyncSums& sums) const {
  CycleSearch::Edges edges;
  for (const auto& [key, acquisition] : acquisitions_) {
    for (const LockAtPlace& held : acquisition.held) edges[held.lock].push_back({held, &acquisition, 0});
  }
  const ReadPlaces reads(sums);
  int64_t tries = kMaxTries;
  std::vector<LockCycle> cycles;
  for (const std::set<ElementId>& knot : FindKnots(edges)) {
    auto steps = CycleSearch(edges, knot, reads, tries).Shortest();
    if (steps.has_value()) cycles.push_back({*std::move(steps), static_cast<int64_t>(knot.size())});
  }
  return cycles;
}

}  // namespace attune::analysis
