#pragma once
/// Sensor "interrupts": every kind of interrupt and softirq of the machine, and how many each CPU took.

#include <array>
#include <vector>

#include "base/unique_fd.h"
#include "sensor/catalog.h"
#include "sensor/text/cpu_table.h"

namespace attune::sensor {

/// One signal a line of /proc/interrupts and /proc/softirqs, summed over the CPUs, and two a CPU, summed over the
/// lines: a signal for each line and CPU would be hundreds of thousands on a large machine. CPUs that are offline have
/// no value.
class InterruptsSensor final : public OfCatalog<"interrupts"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Source {
    UniqueFd file;
    CpuTable table;
  };
  static Status Open(const HostRoot& host, std::string_view path, const CpuSet& present, Source& source);

  std::vector<Source> sources_;
  std::vector<char> buffer_;
};

}  // namespace attune::sensor
