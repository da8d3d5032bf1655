#pragma once
/// The one place where the parts of other folders are chosen for this host.

#include <memory>
#include <string>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "kernel/process_bpf.h"
#include "model/process_watcher.h"

namespace attune::session {

struct WatcherChoice {
  std::unique_ptr<model::ProcessWatcher> watcher;  ///< never null
  std::vector<std::string> refused;  ///< the better ways, each with the reason why it is not possible here
};

/// The best way to follow processes here: eBPF, the process connector, polling. ATTUNE_TRACKING=ebpf|connector|polling
/// in the environment asks for one. @param counting of calls of futex, where it is eBPF
Result<WatcherChoice> MakeWatcher(const HostRoot& host,
                                  kernel::FutexCounting counting = kernel::FutexCounting::kWhereItIsCheap);

}  // namespace attune::session
