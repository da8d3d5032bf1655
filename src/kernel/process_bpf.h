#pragma once
/// Follows processes by eBPF programs on the scheduler's tracepoints: complete, exact in time, and cheap.

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/process_watcher.h"

namespace attune::kernel {

/// A process and its descendants as they are now, as events; kNotFound: no such process (track::DescribeTree).
using TreeDescriber = std::function<Result<std::vector<model::ProcessEvent>>(int64_t pid)>;

/// Needs CAP_BPF and CAP_PERFMON, a kernel with BTF (5.17 or newer), and the initial pid namespace.
/// Totals at an exit are those of all threads of the process, CPU time split as the kernel does for getrusage.
/// @return kPermission, or kUnavailable with what is missing
Result<std::unique_ptr<model::ProcessWatcher>> MakeBpfWatcher(TreeDescriber describe);

}  // namespace attune::kernel
