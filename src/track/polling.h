#pragma once
/// Follows processes by polling /proc. Works everywhere without privilege, and misses processes that live shorter than
/// the polling interval; it counts a lower bound of the missed ones.

#include <memory>

#include "base/host_root.h"
#include "base/result.h"
#include "model/process_watcher.h"

namespace attune::track {

inline constexpr int64_t kPollingIntervalNs = 10'000'000;

/// The interval grows, up to 200 ms, if a pass costs more than a twentieth of it.
///
/// Exit codes: of processes seen as zombies, and from Linux 6.15 on of all observed processes.
/// Lost(): a reaped child adds its faults to those of its parent; faults that no observed child explains belong to
/// missed children.
/// @return kUnavailable where /proc cannot be read
Result<std::unique_ptr<model::ProcessWatcher>> MakePollingWatcher(HostRoot host,
                                                                  int64_t interval_ns = kPollingIntervalNs);

}  // namespace attune::track
