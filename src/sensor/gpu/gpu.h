#pragma once
/// Sensor "gpu": how busy, full, hot and fast GPUs are, from DRM's files (AMD, Intel) and NVML (NVIDIA).

#include <memory>
#include <string>
#include <vector>

#include "sensor/catalog.h"
#include "sensor/gpu/nvml.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {

/// Elements: "card0" (AMD), "card0/gt1" (a tile or engine of an Intel GPU), "nvidia0". A GPU has the signals that its
/// driver gives. Temperatures and power of AMD and Intel GPUs are with the sensor "hwmon".
class GpuSensor final : public OfCatalog<"gpu"> {
 public:
  /// @param nvml_library empty: the installed one, where the host is this machine
  explicit GpuSensor(std::string nvml_library = "") : nvml_library_(std::move(nvml_library)) {}

  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  void AddCard(const HostRoot& host, const std::string& card, std::vector<model::SignalSpec>& specs);
  /// The file's number becomes the signal, where there is such a file.
  bool AddFile(const HostRoot& host, const std::string& path, std::string_view signal, const model::ElementKey& element,
               std::vector<model::SignalSpec>& specs);
  Status AddNvml(const HostRoot& host, std::vector<model::SignalSpec>& specs);

  const std::string nvml_library_;
  std::vector<NumberFile> files_;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace attune::sensor
