#pragma once
/// The kernel's own clock against CLOCK_MONOTONIC, which has an offset in a time namespace (time_namespaces(7)).

#include <cstdint>

#include "base/host_root.h"

namespace attune {

/// Offset to add to times of eBPF and perf events, to get CLOCK_MONOTONIC of this process. 0 outside of time
/// namespaces, and if the kernel has none. @source /proc/self/timens_offsets
int64_t KernelToMonotonicNs(const HostRoot& host);

}  // namespace attune
