#pragma once
/// Placement of the ranks of an MPI job: far traffic that exchanging their places would save (docs/messages.md).

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/messages/task_graph.h"
#include "model/source.h"

namespace attune::analysis {

struct RankPlace {
  model::ElementId rank = 0;
  std::string name;
  int64_t number = 0;          ///< number of the rank in its job
  HostCpu now;                 ///< on which it was most often
  HostCpu then;                ///< that of another rank, or the same
  model::ElementId group = 0;  ///< the host, where there are several, else the NUMA node, else the package
  model::ElementId group_then = 0;
};

struct PlacementPlan {
  std::vector<RankPlace> ranks;  ///< ranks with a known CPU, by number; empty: there is one group alone
  int64_t far_bytes = 0;         ///< between groups
  int64_t far_bytes_then = 0;
  double bytes_by_distance = 0;  ///< bytes times the distance of the two CPUs, from 0 (the same) to 5 (other hosts)
  double bytes_by_distance_then = 0;

  bool IsBetter() const { return far_bytes_then < far_bytes; }
};

/// Exchanges the places of two ranks as long as that saves bytes between groups; each group keeps as many as it has.
/// @cost cubic in the ranks at worst, of which the first 512 are moved
PlacementPlan PlanPlacement(const model::Metadata& meta, const TaskGraph& graph);

/// For `mpirun --rankfile` of Open MPI, with the command lines in comments.
std::string ToRankFile(const PlacementPlan& plan);

}  // namespace attune::analysis
