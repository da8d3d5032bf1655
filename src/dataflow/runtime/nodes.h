#pragma once
/// Groups of CPUs whose workers share work among themselves first: by default the NUMA nodes. This library stands on
/// libc alone, so that it cannot have base's CpuSet.

#include <sched.h>

#include <string>
#include <string_view>
#include <vector>

namespace attune::flow::detail {

/// The kernel's list format, of CPUs or nodes: "0-3,8".  @return false: it is none, or beyond what a cpu_set_t holds
bool ParseCpus(std::string_view text, cpu_set_t* cpus);

/// Groups of `text`, as in "0-3;4-7".  @return false, with `problem`: it has none, or CPUs that are not allowed
bool ParseNodes(std::string_view text, const cpu_set_t& allowed, std::vector<cpu_set_t>* nodes, std::string* problem);

/// CPUs of each NUMA node that are allowed, without nodes that have none; empty: one node, or not known.
/// @param folder "/sys/devices/system/node"
std::vector<cpu_set_t> NodesIn(const std::string& folder, const cpu_set_t& allowed);

}  // namespace attune::flow::detail
