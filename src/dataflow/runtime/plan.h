#pragma once
/// Plan of a graph, made before it runs: who reads and writes what, which ages of each kernel can matter, and what
/// makes it impossible. Pure.

#include <optional>
#include <vector>

#include "attune/flow/graph.h"
#include "dataflow/schedule/granularity.h"

namespace attune::flow::detail {

/// Above every age; sums with distances do not overflow.
inline constexpr int64_t kNoLimit = INT64_MAX / 4;

/// A fetch or a store of a kernel.
struct Use {
  int kernel = 0;
  int slice = 0;
};
struct FieldPlan {
  std::vector<Use> writers;
  std::vector<Use> readers;
  bool read_singly = false;  ///< some kernel fetches single elements
};
struct KernelPlan {
  int64_t low = 0;    ///< the ages that run: those that exist and whose results somebody reads
  int64_t high = -1;  ///< below low: the kernel never runs
  bool source = false;
  int stream = -1;  ///< the fetch whose single elements start instances; -1: none
};
struct Plan {
  std::vector<FieldPlan> fields;
  std::vector<KernelPlan> kernels;
  std::vector<Chain> chains;
  std::vector<int> stops;  ///< kernels that may stop the run
};

/// @param until -1: no limit  @return the error that makes the graph impossible
std::optional<Error> MakePlan(const GraphInfo& graph, int64_t until, Plan* plan);

/// The age of the field that an instance uses. @param age of the instance
inline int64_t AgeOf(const SliceInfo& slice, int64_t age) {
  return slice.kind == AgeKind::kVariable ? age + slice.age : slice.age;
}

}  // namespace attune::flow::detail
