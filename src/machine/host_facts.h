#pragma once
/// Facts about this host: system, CPUs, clocks and what reading them costs.

#include <string>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "machine/capabilities.h"

namespace attune::machine {

struct HostFacts {
  std::string name;
  std::string kernel;  ///< "Linux 6.1.0-18-amd64 x86_64"; empty: not known, as all texts here
  CpuSet online;
  CpuSet allowed;  ///< to this process
  Capabilities capabilities;
  std::string clock_source;  ///< the kernel's: "tsc", "kvm-clock"
  bool tsc_usable = false;   ///< rings hold raw TSC; else CLOCK_MONOTONIC
  double clock_read_ns = 0;  ///< one reading of CLOCK_MONOTONIC, measured now
  double tsc_read_ns = 0;    ///< one reading of the cycle counter, measured now
  std::string perf_event_paranoid;
  std::string vm_stat_interval_s;  ///< how often the kernel refreshes levels in /proc/vmstat
};
/// @cost about 5 ms
HostFacts ReadHostFacts(const HostRoot& host);

}  // namespace attune::machine
