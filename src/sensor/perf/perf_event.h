#pragma once
/// The kernel's counters, by perf_event_open.

#include <linux/perf_event.h>
#include <sys/types.h>

#include <functional>
#include <string_view>

#include "base/host_root.h"

namespace attune::sensor {

/// perf_event_open, or what a test puts in its place: (attributes, pid, CPU, group). @return a descriptor that is
/// closed on exec, or -errno
using PerfOpen = std::function<int(perf_event_attr&, pid_t, int, int)>;

PerfOpen KernelPerfOpen();

/// Why a counter could not be opened, with what to do about it. @param what "context switches of cpu0"
Error PerfError(const HostRoot& host, std::string_view what, int error_number);

}  // namespace attune::sensor
