#pragma once
/// Follows processes by eBPF programs on the scheduler's tracepoints: complete, exact in time, and cheap.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/process_watcher.h"

namespace attune::kernel {

/// A process and its descendants as they are now, as events; kNotFound: no such process (track::DescribeTree).
using TreeDescriber = std::function<Result<std::vector<model::ProcessEvent>>(int64_t pid)>;

/// Whether futex calls are also counted at the entry of all system calls, which costs each of them about 0.1 us in
/// every process of the host.
enum class FutexCounting : uint8_t { kWhereItIsCheap, kAnyway };

/// Needs CAP_BPF and CAP_PERFMON, a kernel with BTF (5.17 or newer), and the initial pid namespace.
/// It counts calls of futex, too: at the entry of that call where the kernel lets functions be traced
/// (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS; x86-64 from 5.5, arm64 from 6.4 on), else, if that is wanted, at
/// the entry of every system call (CONFIG_FTRACE_SYSCALLS), else not.
/// Totals at an exit are those of all threads of the process, CPU time split as the kernel does for getrusage.
/// @return kPermission, or kUnavailable with what is missing
Result<std::unique_ptr<model::ProcessWatcher>> MakeBpfWatcher(TreeDescriber describe,
                                                              FutexCounting counting = FutexCounting::kWhereItIsCheap);

}  // namespace attune::kernel
