#pragma once
/// Follows processes by looking at /proc again and again. Works everywhere and without privilege, and misses what lives
/// shorter than the time between two looks; it counts what it can prove to have missed.

#include <memory>

#include "base/host_root.h"
#include "base/result.h"
#include "model/process_watcher.h"

namespace attune::track {

inline constexpr int64_t kPollingIntervalNs = 10'000'000;

/// The time between two looks grows when a look costs more than a twentieth of it, up to 200 ms.
///
/// Exit codes: of processes that are seen as zombies, and (from Linux 6.15 on) of all that were seen once.
/// Lost(): a reaped child adds its faults to its parent's; faults that no child that was seen explains were another's.
/// @return kUnavailable where /proc cannot be read
Result<std::unique_ptr<model::ProcessWatcher>> MakePollingWatcher(HostRoot host,
                                                                  int64_t interval_ns = kPollingIntervalNs);

}  // namespace attune::track
