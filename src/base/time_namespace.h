#pragma once
/// The kernel's own clock against CLOCK_MONOTONIC, which has an offset in a time namespace (time_namespaces(7)).

#include <cstdint>

#include "base/host_root.h"

namespace attune {

/// What is to be added to the times of eBPF and perf events, so that they are those of CLOCK_MONOTONIC in this process.
/// 0 outside of time namespaces, and where the kernel has none. @source /proc/self/timens_offsets
int64_t KernelToMonotonicNs(const HostRoot& host);

}  // namespace attune
