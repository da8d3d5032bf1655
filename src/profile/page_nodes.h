#pragma once
/// On which NUMA node the memory of other processes lies.

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

/// Asks the kernel, and remembers for a while: pages move rarely. @thread one at a time
class PageNodes {
 public:
  static constexpr int kUnknown = -1;

  /// @return the node of each page that an address lies in; kUnknown: nobody's yet, or not ours to know. Of a process
  ///         that is gone what is remembered, of that page or else of another one near it
  /// @cost a system call for all that is not remembered, 0.3 us a page
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
