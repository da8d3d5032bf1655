#pragma once
/// Sensor "loadavg": the machine's load averages and its tasks.

#include "base/unique_fd.h"
#include "sensor/catalog.h"

namespace attune::sensor {

inline constexpr size_t kLoadavgValues = 5;  ///< load1, load5 and load15 in hundredths; tasks running, and all tasks

/// Parses "0.52 12.07 0.59 1/189 4242". What is not a number, and everything behind it, is absent.
void ParseLoadavg(std::string_view text, std::span<int64_t, kLoadavgValues> out);

class LoadavgSensor final : public OfCatalog<"loadavg"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  UniqueFd file_;
};

}  // namespace attune::sensor
