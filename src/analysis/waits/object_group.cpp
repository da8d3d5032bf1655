#include "analysis/waits/object_group.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

/// Union-find over `count` items.
class Joined {
 public:
  explicit Joined(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[Root(a)] = Root(b); }

 private:
  std::vector<size_t> parent_;
};

/// Call sites at which threads waited for the object.
std::vector<ElementId> WaitSites(const ObjectSums& object) {
  std::vector<ElementId> sites;
  for (const auto& [place, threads] : object.places) {
    const bool is_waited_for =
        std::any_of(threads.begin(), threads.end(), [](const auto& each) { return each.second.wait_ns > 0; });
    if (place.second != SyncKind::kWake && is_waited_for) sites.push_back(place.first);
  }
  return sites;
}

void AddObject(const ObjectSums& object, SamePlaces& places, ObjectSums& sums) {
  sums.total.Add(object.total);
  for (const auto& [place, threads] : object.places) {
    auto& known = sums.places[{places.Of(place.first), place.second}];
    for (const auto& [thread, counts] : threads) known[thread].Add(counts);
  }
}

void Finish(const SyncSums& sums, SamePlaces& places, ObjectGroup& group) {
  std::stable_sort(group.objects.begin(), group.objects.end(), [&sums](ElementId a, ElementId b) {
    return sums.objects.at(a).total.wait_ns > sums.objects.at(b).total.wait_ns;
  });
  group.sums.kind = sums.objects.at(group.objects.front()).kind;
  for (const ElementId id : group.objects) AddObject(sums.objects.at(id), places, group.sums);
}

/// Readers and writers wait otherwise than who locks a mutex, teams otherwise than who meets by itself.
int Sort(SyncKind kind) {
  if (kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock) return 1;
  return kind == SyncKind::kTeamBarrier ? 2 : 0;
}

/// An object, and the process that has it.
struct Candidate {
  ElementId object = 0;
  ElementId process = 0;
  bool is_enough = false;  ///< for a finding by itself
};

using PlaceAndSort = std::pair<ElementId, int>;  ///< and the sort

void JoinAtPlace(const std::vector<Candidate>& candidates, const std::vector<size_t>& here, Joined& joined) {
  std::set<ElementId> processes;
  for (const size_t i : here) processes.insert(candidates[i].process);
  const bool is_one_each = processes.size() == here.size();
  const size_t none = candidates.size();
  size_t first = none;
  for (const size_t i : here) {
    if (!is_one_each && candidates[i].is_enough) continue;
    if (first != none) joined.Join(i, first);
    first = i;
  }
}

}  // namespace

std::vector<ObjectGroup> GroupObjects(const SyncSums& sums, const model::Metadata& meta, bool (*is_kind)(SyncKind),
                                      const std::function<bool(int64_t)>& is_enough, SamePlaces& places) {
  std::vector<Candidate> candidates;
  std::map<PlaceAndSort, std::vector<size_t>> by_place;
  for (const auto& [id, object] : sums.objects) {
    if (!is_kind(object.kind) || object.total.wait_ns <= 0) continue;
    std::set<ElementId> here;
    for (const ElementId site : WaitSites(object)) {
      if (places.Joins(site)) here.insert(places.Of(site));
    }
    for (const ElementId place : here) by_place[{place, Sort(object.kind)}].push_back(candidates.size());
    const model::Element* element = meta.FindElement(id);
    candidates.push_back({id, element != nullptr ? element->parent : 0, is_enough(object.total.wait_ns)});
  }
  Joined joined(candidates.size());
  for (const auto& [place, here] : by_place) JoinAtPlace(candidates, here, joined);
  std::map<size_t, ObjectGroup> by_root;
  for (size_t i = 0; i < candidates.size(); ++i) by_root[joined.Root(i)].objects.push_back(candidates[i].object);
  std::vector<ObjectGroup> groups;
  for (auto& [root, group] : by_root) {
    int64_t wait_ns = 0;
    for (const ElementId id : group.objects) AddTo(wait_ns, sums.objects.at(id).total.wait_ns);
    if (!is_enough(wait_ns)) continue;
    Finish(sums, places, group);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace attune::analysis
