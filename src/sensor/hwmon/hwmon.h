#pragma once
/// Sensor "hwmon": temperatures, fans, power, voltages and currents that the board's chips and devices report.

#include <string>
#include <vector>

#include "sensor/catalog.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {

/// One element a channel: "coretemp.0/Core 0", "nvme0/Composite", "thermal_zone0/x86_pkg_temp". Channels that cannot be
/// read at the moment are absent. @cost what the chip takes: from 1 us to some ms a channel
class HwmonSensor final : public OfCatalog<"hwmon"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override { return std::make_unique<HwmonSensor>(); }

 private:
  void AddChip(const HostRoot& host, const std::string& folder, std::vector<model::SignalSpec>& specs);
  void AddZone(const HostRoot& host, const std::string& zone, std::vector<model::SignalSpec>& specs);
  void AddChannel(const HostRoot& host, const std::string& path, std::string_view signal, std::string element,
                  std::vector<model::SignalSpec>& specs);

  void AddLimit(const std::string& element, int64_t millidegrees, std::vector<model::SignalSpec>& specs);
  void AddThrottles(const HostRoot& host, std::vector<model::SignalSpec>& specs);
  void AddThrottle(const HostRoot& host, const std::string& path, std::string_view signal, model::ElementKey element,
                   std::vector<model::SignalSpec>& specs);

  /// A file that is read, or a limit that never changes.
  struct Channel {
    NumberFile file;
    int64_t fixed = model::kAbsent;
  };
  std::vector<Channel> channels_;
};

}  // namespace attune::sensor
