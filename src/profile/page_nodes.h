#pragma once
/// NUMA nodes of the memory of other processes.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/host_root.h"

namespace attune::profile {

/// The node of each CPU, by CPU; -1 for numbers that are no CPU. Empty: there is one node only, or it is not known.
std::vector<int> ReadCpuNodes(const HostRoot& host);

/// Queries the kernel, and caches the result for a while, since pages move rarely. @thread one at a time
class PageNodes {
 public:
  static constexpr int kUnknown = -1;

  /// @return the node of the page of each address; kUnknown: not allocated yet, or no permission. For an ended process,
  ///         the cached node of that page, or else of a page near it
  /// @cost one system call for all pages that are not cached, 0.3 us a page
  std::vector<int> Find(pid_t pid, std::span<const uint64_t> addresses, int64_t now_ns);

 private:
  struct Known {
    int node = kUnknown;
    int64_t until_ns = 0;
  };
  int NodeNear(pid_t pid, uint64_t page) const;

  std::map<std::pair<pid_t, uint64_t>, Known> known_;  ///< by process and page
};

}  // namespace attune::profile
