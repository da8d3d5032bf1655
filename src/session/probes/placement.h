#pragma once
/// CPUs that attune itself runs on, and how fast they wake up.

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "base/unique_fd.h"
#include "machine/topology.h"

namespace attune::session {

/// On a machine with more than one NUMA node, the CPUs of the first node that has some of the allowed ones: what attune
/// touches stays in one place, and the other nodes stay the program's. Empty: anywhere (one node, or none known).
CpuSet DefaultPlace(const machine::Topology& topology, const CpuSet& allowed);

/// Keeps the CPUs from halting when they are idle: they turn in a loop instead, so that a wake-up costs half as much
/// and comes sooner; they need more power, and what shares a core with them gets less of it.
/// @return holds it, until it is closed or the process ends in any way (the kernel's admin-guide/pm/cpuidle.rst)
Result<UniqueFd> KeepCpusAwake(const HostRoot& host);

}  // namespace attune::session
