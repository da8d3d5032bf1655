#pragma once
/// Where attune itself runs.

#include "base/cpu_set.h"
#include "machine/topology.h"

namespace attune::session {

/// On a machine with more than one NUMA node, the CPUs of the first node that has some of the allowed ones: what attune
/// touches stays in one place, and the other nodes stay the program's. Empty: anywhere (one node, or none known).
CpuSet DefaultPlace(const machine::Topology& topology, const CpuSet& allowed);

}  // namespace attune::session
