#include "analysis/messages/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/waits/sync_sums.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

/// Bytes between two ranks, both directions together, by their indices.
using Traffic = std::map<std::pair<size_t, size_t>, int64_t>;

constexpr size_t kMostMoved = 512;

int64_t FarBytes(const Traffic& traffic, const std::vector<ElementId>& groups) {
  int64_t far = 0;
  for (const auto& [pair, amount] : traffic) {
    if (groups[pair.first] != groups[pair.second]) AddTo(far, amount);
  }
  return far;
}

/// The search: which place, by the rank that has it now, each rank shall have.
class Search {
 public:
  Search(const Traffic& traffic, std::vector<ElementId> groups)
      : traffic_(traffic), groups_(std::move(groups)), places_(groups_.size()), to_group_(groups_.size()) {
    for (size_t i = 0; i < places_.size(); ++i) places_[i] = i;
  }

  void Run() {
    const size_t count = std::min(groups_.size(), kMostMoved);
    for (size_t round = 0; round < count; ++round) {
      AddUp();
      double best_gain = 0;
      std::pair<size_t, size_t> best;
      for (size_t a = 0; a < count; ++a) {
        for (size_t b = a + 1; b < count; ++b) {
          if (groups_[a] == groups_[b]) continue;
          const double gain = Gain(a, b);
          if (gain > best_gain) {
            best_gain = gain;
            best = {a, b};
          }
        }
      }
      if (best_gain <= 0) return;
      std::swap(groups_[best.first], groups_[best.second]);
      std::swap(places_[best.first], places_[best.second]);
    }
  }

  const std::vector<ElementId>& groups() const { return groups_; }
  const std::vector<size_t>& places() const { return places_; }

 private:
  void AddUp() {
    for (auto& sums : to_group_) sums.clear();
    for (const auto& [pair, amount] : traffic_) {
      to_group_[pair.first][groups_[pair.second]] += static_cast<double>(amount);
      to_group_[pair.second][groups_[pair.first]] += static_cast<double>(amount);
    }
  }
  double Gain(size_t a, size_t b) {
    const auto found = traffic_.find(std::minmax(a, b));
    const double between = found == traffic_.end() ? 0.0 : static_cast<double>(found->second);
    return to_group_[a][groups_[b]] - to_group_[a][groups_[a]] + to_group_[b][groups_[a]] - to_group_[b][groups_[b]] -
           2 * between;
  }

  const Traffic& traffic_;
  std::vector<ElementId> groups_;
  std::vector<size_t> places_;
  std::vector<std::map<ElementId, double>> to_group_;  ///< a file may say any number of bytes
};

double BytesByDistance(const Traffic& traffic, const CpuDistances& distances, const std::vector<RankPlace>& ranks,
                       HostCpu RankPlace::* place) {
  double sum = 0;
  for (const auto& [pair, amount] : traffic) {
    const TaskDistance distance = distances.Between(ranks[pair.first].*place, ranks[pair.second].*place);
    if (distance != TaskDistance::kUnknown) sum += static_cast<double>(amount) * static_cast<double>(distance);
  }
  return sum;
}

}  // namespace

PlacementPlan PlanPlacement(const model::Metadata& meta, const TaskGraph& graph) {
  const CpuDistances distances(meta);
  PlacementPlan plan;
  std::map<ElementId, size_t> index;
  std::vector<ElementId> groups;
  for (const TaskRank& rank : graph.ranks) {
    const HostCpu cpu{rank.host, rank.cpu};
    const ElementId group = rank.cpu == kAbsent ? 0 : distances.GroupOf(cpu);
    if (group == 0) continue;
    index[rank.id] = plan.ranks.size();
    groups.push_back(group);
    plan.ranks.push_back({.rank = rank.id,
                          .name = rank.name,
                          .number = rank.rank,
                          .now = cpu,
                          .then = cpu,
                          .group = group,
                          .group_then = group});
  }
  if (std::set(groups.begin(), groups.end()).size() < 2) return {};
  Traffic traffic;
  for (const TaskPair& pair : graph.pairs) {
    const auto a = index.find(pair.source), b = index.find(pair.destination);
    if (a == index.end() || b == index.end() || a == b) continue;
    AddTo(traffic[std::minmax(a->second, b->second)], pair.Bytes());
  }
  Search search(traffic, groups);
  search.Run();
  plan.far_bytes = FarBytes(traffic, groups);
  plan.far_bytes_then = FarBytes(traffic, search.groups());
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    plan.ranks[i].then = plan.ranks[search.places()[i]].now;
    plan.ranks[i].group_then = search.groups()[i];
  }
  plan.bytes_by_distance = BytesByDistance(traffic, distances, plan.ranks, &RankPlace::now);
  plan.bytes_by_distance_then = BytesByDistance(traffic, distances, plan.ranks, &RankPlace::then);
  return plan;
}

std::string ToRankFile(const PlacementPlan& plan) {
  std::string text = "# Open MPI: mpirun --mca rmaps_rank_file_physical 1 --rankfile FILE -n ";
  text += fmt::format("{} PROGRAM\n", plan.ranks.size());
  std::set<std::string> hosts;
  std::vector<int64_t> cpus;
  for (const RankPlace& rank : plan.ranks) {
    hosts.insert(rank.then.host);
    cpus.push_back(rank.then.cpu);
  }
  if (hosts.size() == 1)
    text += fmt::format("# MPICH:    mpirun -bind-to user:{} -n {} PROGRAM\n", fmt::join(cpus, ","), plan.ranks.size());
  text += plan.IsBetter()
              ? fmt::format("# {} bytes between groups instead of {}\n", plan.far_bytes_then, plan.far_bytes)
              : "# as it was: no better placement was found\n";
  for (const RankPlace& rank : plan.ranks)
    text += fmt::format("rank {}={} slot={}\n", rank.number, rank.then.host, rank.then.cpu);
  return text;
}

}  // namespace attune::analysis
