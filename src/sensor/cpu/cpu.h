#pragma once
/// Sensor "cpu": time of each CPU by kind, and the scheduler's totals, from /proc/stat.

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/unique_fd.h"
#include "sensor/catalog.h"

namespace attune::sensor {

/// Signals exist for every CPU that is present, online or not: values of a CPU are absent while it is offline. Time is
/// counted in the kernel's ticks, as it comes; the scale makes it nanoseconds.
class CpuSensor final : public OfCatalog<"cpu"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  /// The CPUs of the machine with the line key of each ("cpu12 "), ascending.
  struct Cpu {
    CpuId id;
    std::string key;
  };

  Result<std::vector<Cpu>> FindCpus(const HostRoot& host, std::string_view stat) const;
  void Parse(std::string_view text, std::span<int64_t> out) const;

  UniqueFd file_;
  std::vector<Cpu> cpus_;
  size_t fields_ = 0;  ///< time columns that this kernel has
  std::vector<char> buffer_;
};

}  // namespace attune::sensor
