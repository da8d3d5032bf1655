#pragma once
/// The units of a machine that count events (/sys/bus/event_source/devices).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"

namespace attune::counter {

inline constexpr const char* kPmuFolder = "/sys/bus/event_source/devices";

struct Pmu {
  std::string device;  ///< "cpu", "cpu_core", "armv8_cortex_a72", "msr"
  std::string kind;    ///< kernel's name of its kind: "skylake"; may be empty
  uint64_t type = 0;   ///< perf_event_attr::type
  CpuSet cpus;         ///< that it counts on; empty: any
  bool is_core = false;
  bool is_one_of_several = false;  ///< cores of several kinds: which one is meant must be said
};

/// Those of the cores; a machine with cores of several kinds has several.
std::vector<Pmu> FindCorePmus(const HostRoot& host, const CpuSet& online);
/// All, by name.
std::vector<Pmu> FindPmus(const HostRoot& host, const CpuSet& online);

/// Bits of a field of perf_event_attr that a term of an event goes to: "config:0-7,32-35".
struct FormatBits {
  enum class Field : uint8_t { kConfig, kConfig1, kConfig2 };
  Field field = Field::kConfig;
  std::vector<std::pair<unsigned, unsigned>> ranges;  ///< first and last bit, in the order in which they are filled
};
/// @return nullopt: it is written otherwise
std::optional<FormatBits> ParseFormat(std::string_view text);

/// Terms of the unit's events, by name (its folder `format`). @cost a file each
std::map<std::string, FormatBits> FormatsOf(const HostRoot& host, const Pmu& pmu);
/// The unit's named events and what they stand for: "event=0x3c,umask=0x01" (its folder `events`). @cost a file each
std::map<std::string, std::string> NamedEvents(const HostRoot& host, const Pmu& pmu);

}  // namespace attune::counter
