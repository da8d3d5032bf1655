#pragma once
/// Capabilities of the machine besides its topology: processors, memory, limits, protection. Missing values are
/// absent, never 0.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"

namespace attune::machine {

/// One CPU, as /proc/cpuinfo and its cpufreq folder describe it. Texts are empty where they are not known.
struct CpuInfo {
  CpuId cpu = 0;                               ///< the "processor" of cpuinfo: the virtual number
  std::optional<int64_t> package_id, core_id;  ///< the physical numbers
  std::string vendor, model, microcode;
  std::optional<int64_t> family, model_number, stepping;
  std::optional<double> mhz;  ///< now
  std::optional<double> min_mhz, max_mhz;
  std::optional<double> bogomips;
  std::string governor, frequency_driver;
  std::vector<std::string> flags;  ///< "avx2", as the kernel names them; on Arm its "Features"
};

struct HugePages {
  uint64_t page_bytes = 0;
  uint64_t total = 0;
  uint64_t free = 0;
};

/// The limits of the control group that this process is in, with those of the groups above it: the tightest count.
struct CgroupLimits {
  std::string path;            ///< "/user.slice"; empty: not known
  std::optional<double> cpus;  ///< cpu.max as a number of CPUs
  std::string cpuset;          ///< effective CPUs; empty: not limited, or not known
  std::optional<uint64_t> memory_bytes;
};

struct Capabilities {
  std::vector<CpuInfo> cpus;  ///< ascending
  std::optional<uint64_t> memory_bytes, memory_available_bytes;
  std::optional<uint64_t> swap_bytes, swap_free_bytes;  ///< 0: there is none
  std::optional<uint64_t> page_bytes;
  std::vector<HugePages> huge_pages;                   ///< by size
  std::string transparent_huge_pages;                  ///< "always", "madvise", "never"
  std::string hypervisor;                              ///< "KVM"; empty: none is known
  CpuSet isolated, nohz_full;                          ///< CPUs that the scheduler, the tick leave alone
  std::optional<bool> smt_active;                      ///< several threads of a core are in use
  std::map<std::string, std::string> vulnerabilities;  ///< "spectre_v2" -> "Mitigation: Retpolines"
  CgroupLimits cgroup;
};

/// Reads what there is; nothing fails. @cost some ms, and one file a CPU for each of its frequency's limits
/// @source /proc/cpuinfo, /proc/meminfo, /sys/devices/system/cpu, /sys/kernel/mm, /sys/hypervisor, /sys/class/dmi,
/// /sys/fs/cgroup
Capabilities ReadCapabilities(const HostRoot& host);

/// The text of /proc/cpuinfo. Lines that make no sense are left out.
std::vector<CpuInfo> ParseCpuInfo(std::string_view text);

}  // namespace attune::machine
