#pragma once
/// What `attune info` and `attune doctor` know of this host: facts, and checks with what mends them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "machine/capabilities.h"

namespace attune::cli {

struct HostFacts {
  std::string name;
  std::string kernel;  ///< "Linux 6.1.0-18-amd64 x86_64"; empty: not known, as all texts here
  CpuSet online;
  CpuSet allowed;  ///< to this process
  machine::Capabilities capabilities;
  std::string clock_source;  ///< the kernel's: "tsc", "kvm-clock"
  bool tsc_usable = false;   ///< rings hold raw TSC; else CLOCK_MONOTONIC
  double clock_read_ns = 0;  ///< one reading of CLOCK_MONOTONIC, measured now
  double tsc_read_ns = 0;    ///< one reading of the cycle counter, measured now
  std::string perf_event_paranoid;
  std::string vm_stat_interval_s;  ///< how often the kernel refreshes levels in /proc/vmstat
};
/// @cost about 5 ms
HostFacts ReadHostFacts(const HostRoot& host);

/// Of attune itself.
std::string ExecutablePath();

enum class CheckStatus {
  kOk,
  kWarning,  ///< attune works, and Check::effect says what is worse
  kAbsent,   ///< optional, and not on this machine
  kMissing   ///< attune's main work cannot be done
};
constexpr size_t kCheckStatuses = 4;
std::string_view ToString(CheckStatus status);

/// One thing that attune can use.
struct Check {
  std::string id;  ///< stable: "sampler.priority"
  CheckStatus status = CheckStatus::kOk;
  std::string what;    ///< "real-time priority for the sampler"
  std::string detail;  ///< what was found
  std::string effect;  ///< what goes without it; empty where it is ok
  std::string fix;     ///< the exact command; empty: ok, or nothing helps here
};
/// Tries everything for real, and undoes it. @param facts of this host @param executable path of attune, for the
/// commands @cost about 50 ms
std::vector<Check> CheckHost(const HostRoot& host, const HostFacts& facts, const std::string& executable);

}  // namespace attune::cli
