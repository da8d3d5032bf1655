#include "analysis/object_group.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

/// Which of so many things have been joined.
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

/// Where threads waited for it.
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

}  // namespace

std::vector<ObjectGroup> GroupObjects(const SyncSums& sums, bool (*is_kind)(SyncKind), SamePlaces& places) {
  std::vector<ElementId> objects;
  for (const auto& [id, object] : sums.objects) {
    if (is_kind(object.kind) && object.total.wait_ns > 0) objects.push_back(id);
  }
  Joined joined(objects.size());
  std::unordered_map<ElementId, size_t> object_at;
  for (size_t i = 0; i < objects.size(); ++i) {
    for (const ElementId site : WaitSites(sums.objects.at(objects[i]))) {
      if (!places.IsForAll(site)) joined.Join(i, object_at.try_emplace(places.Of(site), i).first->second);
    }
  }
  std::map<size_t, ObjectGroup> by_root;
  for (size_t i = 0; i < objects.size(); ++i) by_root[joined.Root(i)].objects.push_back(objects[i]);
  std::vector<ObjectGroup> groups;
  for (auto& [root, group] : by_root) {
    Finish(sums, places, group);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace attune::analysis
