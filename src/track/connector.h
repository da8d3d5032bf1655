#pragma once
/// Follows processes by the kernel's process connector (netlink): complete, without eBPF.

#include <memory>

#include "base/host_root.h"
#include "base/result.h"
#include "model/process_watcher.h"

namespace attune::track {

/// The kernel sends the events of all processes of the machine; the watcher selects the followed ones. It reads
/// arguments and totals from /proc when the event arrives, so they are absent for processes that are gone by then.
/// Ordinary users may listen from Linux 6.6 on; before, it needs CAP_NET_ADMIN.
/// @return kPermission, or kUnavailable where the kernel has no connector or this is a container
Result<std::unique_ptr<model::ProcessWatcher>> MakeConnectorWatcher(HostRoot host = HostRoot());

}  // namespace attune::track
