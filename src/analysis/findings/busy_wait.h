#pragma once
/// The class of threads that wait without sleeping, which CPU samples and waits for locks show.

#include <string_view>

#include "analysis/findings/finding.h"

namespace attune::analysis {

inline constexpr FindingClass kBusyWait{.name = "busy-wait",
                                        .about = "Threads spin: they use CPUs while they wait",
                                        .cost = Cost::kCpuTime,
                                        .takes_cpus_only = true};
inline constexpr std::string_view kBusyWaitAdvice =
    "Let it sleep until it is woken (a lock or condition variable, std::atomic::wait, a call that blocks), and spin "
    "before that for no longer than it takes to wake a thread, some microseconds.";

}  // namespace attune::analysis
