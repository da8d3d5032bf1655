// Time that CPUs may take to wake up: while the file of /dev is open, none sleeps so deeply that it takes longer
// (Documentation/power/pm_qos_interface.rst). When whoever holds it open ends, all is as before.

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

constexpr std::string_view kFile = "/dev/cpu_dma_latency";
constexpr std::string_view kFree = "free";  ///< nothing is asked for by us

class WakeLatency : public model::Actuator {
 public:
  explicit WakeLatency(HostRoot host) : host_(std::move(host)) {}

  bool EndsWithUs() const override { return true; }

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& /*target*/) override {
    if (!host_.Exists(kFile))
      return Error{Errc::kNotFound, fmt::format("{}: this machine has no {}", knob.name, kFile), ""};
    return std::vector<model::KnobSetting>{{"", value_}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& /*target*/,
                            const model::KnobSetting& setting) override {
    if (setting.value == kFree) {
      held_ = UniqueFd();
      value_ = kFree;
      return value_;
    }
    int32_t wanted_us = 0, is_us = 0;
    std::from_chars(setting.value.data(), setting.value.data() + setting.value.size(), wanted_us);
    auto file = host_.OpenWritable(kFile);
    if (!file.ok()) {
      Error error = file.error().WithContext(knob.name);
      if (error.code == Errc::kPermission) error.hint = "it is root's: run as root";
      return error;
    }
    if (write(file->get(), &wanted_us, sizeof wanted_us) != sizeof wanted_us)
      return ErrnoError(fmt::format("{}: writing {} us to {}", knob.name, wanted_us, kFile));
    // The least that anybody has asked for holds.
    if (pread(file->get(), &is_us, sizeof is_us, 0) == sizeof is_us && is_us > wanted_us)
      return NotTaken(knob, "", setting.value, std::to_string(is_us));
    held_ = *std::move(file);
    value_ = setting.value;
    return value_;
  }

 private:
  const HostRoot host_;
  UniqueFd held_;
  std::string value_{kFree};
};

}  // namespace

std::unique_ptr<model::Actuator> MakeWakeLatencyActuator(const ActuatorHost& host) {
  return std::make_unique<WakeLatency>(host.host);
}

}  // namespace attune::actuator
