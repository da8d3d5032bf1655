#pragma once
/// The events of the counters of the sensor "hardware", by processor: catalog/counters/hardware.toml as a table.

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace attune::sensor {

struct CounterEvent {
  std::string_view name;                    ///< as its maker calls it
  std::span<const std::string_view> cores;  ///< names of PMUs, or of vendors, that have it; empty: any
  uint32_t type = 0;                        ///< PERF_TYPE_*
  uint64_t config = 0;
  std::string_view differs;  ///< from the counter's description; empty: it is that
};

struct HardwareCounter {
  std::string_view name;  ///< the signal's
  std::string_view rtm;   ///< RTM's name of it
  std::span<const CounterEvent> events;
};

std::span<const HardwareCounter> HardwareCounters();

}  // namespace attune::sensor
