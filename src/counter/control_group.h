#pragma once
/// Control groups whose events are counted.

#include <string_view>

#include "base/host_root.h"
#include "base/unique_fd.h"

namespace attune::counter {

/// Opens the folder of a control group (cgroup2) for Counted::cgroup_fd.
/// @param name below the mount of cgroup2, as in "system.slice/ssh.service"; or a whole path
/// Error: kNotFound; kUnavailable where no cgroup2 is mounted
Result<UniqueFd> OpenControlGroup(const HostRoot& host, std::string_view name);

}  // namespace attune::counter
