// Knobs of a program's own (attune/knob.h). The place says where the variable is, so that a guardian can write it back
// that knows the place alone.

#include <fmt/format.h>

#include <charconv>

#include "actuator/actuators.h"
#include "actuator/remote_call.h"
#include "actuator/threads.h"
#include "wire/ring.h"

namespace attune::actuator {
namespace {

class Program : public model::Actuator {
 public:
  explicit Program(model::ProbeChannel* probe) : probe_(probe) {}

  bool WaitsForProgram() const override { return true; }

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    if (probe_ == nullptr)
      return Error{Errc::kNotFound, fmt::format("{}: process {} was not started by attune", knob.name, target.pid),
                   "attune tune -- PROGRAM starts it with the probe"};
    ATTUNE_TRY(std::string place, probe_->FindDeclared(target.pid, knob.name));
    ATTUNE_TRY(const int64_t value, Access(knob, target, place, wire::kRingCallLoad, 0));
    return std::vector<model::KnobSetting>{{std::move(place), std::to_string(value)}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    int64_t value = 0;
    std::from_chars(setting.value.data(), setting.value.data() + setting.value.size(), value);
    ATTUNE_TRY(const int64_t before, Access(knob, target, setting.place, wire::kRingCallStore, value));
    static_cast<void>(before);
    ATTUNE_TRY(const int64_t read, Access(knob, target, setting.place, wire::kRingCallLoad, 0));
    std::string is = std::to_string(read);
    if (is != setting.value) return NotTaken(knob, "", setting.value, is);
    return is;
  }

 private:
  Result<int64_t> Access(const model::Knob& knob, const model::KnobTarget& target, std::string_view place,
                         uint64_t function, int64_t value) const {
    const bool at_safe_points = place.starts_with(model::kAtSafePoints);
    uint64_t address = 0;
    const size_t begin = place.find("0x");
    if (begin != std::string_view::npos)
      std::from_chars(place.data() + begin + 2, place.data() + place.size(), address, 16);
    if (address == 0 || probe_ == nullptr)
      return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no variable", knob.name, place), ""};
    // Declared safe points are beyond all code, so that no other one fits.
    return probe_->DoCall(target.pid,
                          {.function = function,
                           .arguments = {static_cast<int64_t>(address), value},
                           .not_from = 0,
                           .not_to = at_safe_points ? UINT64_MAX : 0},
                          kCallLimitNs);
  }

  model::ProbeChannel* const probe_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeProgramActuator(const ActuatorHost& host) {
  return std::make_unique<Program>(host.probe);
}

}  // namespace attune::actuator
