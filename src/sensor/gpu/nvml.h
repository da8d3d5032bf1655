#pragma once
/// NVIDIA's management library, loaded where it is installed. Nothing of it is needed to build attune.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune::sensor {

/// Values that attune asks of a device. In the order of Nvml::Read.
enum class NvmlValue : uint8_t {
  kBusy,         ///< per cent of the last sampling period of the driver (1/6 to 1 s)
  kMemoryBusy,   ///< per cent, as above
  kMemoryUsed,   ///< bytes
  kMemoryTotal,  ///< bytes
  kPower,        ///< mW
  kTemperature,  ///< degrees Celsius
  kClock,        ///< MHz
  kMemoryClock,  ///< MHz
  kEnergy,       ///< mJ since the driver was loaded
};
inline constexpr size_t kNvmlValues = 9;

/// @thread one at a time
class Nvml {
 public:
  struct Device {
    void* handle = nullptr;
    std::string name;                        ///< "NVIDIA H100 80GB HBM3"
    std::array<bool, kNvmlValues> has = {};  ///< values that this device can tell
  };

  /// @param library "libnvidia-ml.so.1", or a path
  /// @return kUnavailable: no such library, or no driver that it can talk to
  static Result<std::unique_ptr<Nvml>> Load(const std::string& library);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  const std::vector<Device>& Devices() const { return devices_; }
  /// Fills what the device has; kAbsent: the driver gave no value (the device fell off the bus, or is being reset).
  /// Does not allocate itself. @cost the driver's: some us to some ms
  void Read(const Device& device, std::array<int64_t, kNvmlValues>& values) const;

 private:
  struct Functions;
  explicit Nvml(void* library);
  Status Start(const std::string& library);

  void* library_;
  std::unique_ptr<Functions> functions_;
  bool started_ = false;
  std::vector<Device> devices_;
};

}  // namespace attune::sensor
