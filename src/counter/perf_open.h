#pragma once
/// Opens the kernel's counters (perf_event_open(2)).

#include <linux/perf_event.h>
#include <sys/types.h>

#include <functional>
#include <string_view>

#include "base/host_root.h"

namespace attune::counter {

/// Thread, CPU or control group of an event.
struct PerfTarget {
  pid_t pid = -1;   ///< thread; -1: all
  int cpu = -1;     ///< -1: wherever the thread runs
  int group = -1;   ///< leader of its group; -1: it leads one
  int cgroup = -1;  ///< a folder of a control group, in place of a thread; -1: none
};
/// perf_event_open, or what a test puts in its place. @return a descriptor that is closed on exec, or -errno
using PerfOpen = std::function<int(perf_event_attr&, const PerfTarget&)>;

PerfOpen KernelPerfOpen();

/// Why a counter could not be opened, with what to do about it. @param what "context switches of cpu0"
Error PerfError(const HostRoot& host, std::string_view what, int error_number);

}  // namespace attune::counter
