#include "dataflow/runtime/domain.h"

#include <algorithm>
#include <cstdint>

namespace attune::flow::detail {
namespace {

/// Range of one variable: [low, high). @return false: there is a conflict
bool RangeOf(const KernelInfo& kernel, const KernelAge& instances, int variable, int64_t* low, int64_t* high,
             ExtentConflict* conflict) {
  const FieldAge* bound_by = nullptr;
  int64_t extent = -1;
  for (size_t s = 0; s < kernel.fetches.size(); ++s) {
    const SliceInfo& fetch = kernel.fetches[s];
    for (size_t dim = 0; dim < static_cast<size_t>(fetch.rank); ++dim) {
      if (fetch.variable[dim] != variable) continue;
      const FieldAge* in = instances.in[s];
      const int64_t here = in->extent[dim];
      if (bound_by != nullptr && here != extent) {
        *conflict = {variable, bound_by, extent, in, here};
        return false;
      }
      bound_by = in;
      extent = here;
      *low = std::max(*low, -fetch.offset[dim]);
      *high = std::min(*high, here - fetch.offset[dim]);
    }
  }
  for (const SliceInfo& store : kernel.stores) {
    for (size_t dim = 0; dim < static_cast<size_t>(store.rank); ++dim) {
      if (store.variable[dim] == variable) *low = std::max(*low, -store.offset[dim]);
    }
  }
  return true;
}

}  // namespace

int64_t FindDomain(const KernelInfo& kernel, KernelAge* instances, ExtentConflict* conflict) {
  int64_t total = 1;
  for (int v = 0; v < kernel.variables; ++v) {
    int64_t low = 0;
    const int64_t bound = kernel.bound[static_cast<size_t>(v)];
    int64_t high = bound >= 0 ? bound : INT64_MAX / 4;
    if (!RangeOf(kernel, *instances, v, &low, &high, conflict)) return -1;
    instances->low[v] = low;
    instances->count[v] = std::max<int64_t>(0, high - low);
    if (__builtin_mul_overflow(total, instances->count[v], &total)) return -1;
  }
  return total;
}

}  // namespace attune::flow::detail
