// Variables of a program, by the name that its source gives them: read and written from outside, at once.
//
//   how.variable   [LIBRARY!]NAME, then .MEMBER, ->MEMBER and [INDEX]

#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "actuator/actuators.h"
#include "actuator/remote/stopped_thread.h"
#include "actuator/threads.h"
#include "symbols/process_code.h"

namespace attune::actuator {
namespace {

class VariableOf : public model::Actuator {
 public:
  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    ATTUNE_TRY(const symbols::Variable variable, Find(knob, target));
    ATTUNE_TRY(std::string value, Value(knob, target, variable));
    return std::vector<model::KnobSetting>{{"", std::move(value)}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const symbols::Variable variable, Find(knob, target));
    const auto bytes = symbols::FromText(variable, AsText(knob, variable, setting.value));
    if (!bytes.ok()) return bytes.error().WithContext(knob.name);
    if (!WriteRemote(target.pid, variable.address, *bytes)) return NoAccess(knob, target, "written");
    ATTUNE_TRY(std::string is, Value(knob, target, variable));
    // 0x10 reads back as 16, 1 of a bool as true.
    if (is != symbols::ToText(variable, Padded(*bytes, variable.bytes)) && is != setting.value)
      return NotTaken(knob, "", setting.value, is);
    return is;
  }

 private:
  static Error NoAccess(const model::Knob& knob, const model::KnobTarget& target, std::string_view what) {
    const int error_number = errno;
    Error error = ErrnoError(fmt::format("{} of process {} cannot be {}", knob.name, target.pid, what), error_number);
    // Memory that may only be read.
    if (error_number == EFAULT) error = {Errc::kPermission, error.message, "it is a constant, or its memory is gone"};
    return error;
  }

  static std::vector<std::byte> Padded(std::vector<std::byte> bytes, size_t count) {
    bytes.resize(count);
    return bytes;
  }

  /// A switch is a number, or a bool, in a program.
  static std::string AsText(const model::Knob& knob, const symbols::Variable& variable, const std::string& value) {
    if (knob.type != model::KnobType::kSwitch) return value;
    const bool is_bool = variable.kind == symbols::Variable::Kind::kBool;
    return value == "on" ? (is_bool ? "true" : "1") : (is_bool ? "false" : "0");
  }

  Result<symbols::Variable> Find(const model::Knob& knob, const model::KnobTarget& target) {
    const auto how = knob.how.find("variable");
    if (how == knob.how.end() || how->second.empty())
      return Error{Errc::kInvalidArgument, knob.name + ": how.variable is missing", ""};
    std::unique_ptr<symbols::ProcessCode>& code = code_[{target.pid, target.start_ticks}];
    if (code == nullptr) {
      ATTUNE_TRY(symbols::ProcessCode opened, symbols::ProcessCode::Open(target.pid));
      code = std::make_unique<symbols::ProcessCode>(std::move(opened));
    }
    return code->FindVariable(how->second, [pid = target.pid](uint64_t address, std::span<std::byte> into) {
      return ReadRemote(pid, address, into);
    });
  }

  Result<std::string> Value(const model::Knob& knob, const model::KnobTarget& target,
                            const symbols::Variable& variable) const {
    std::vector<std::byte> bytes(variable.bytes);
    if (!ReadRemote(target.pid, variable.address, bytes)) return NoAccess(knob, target, "read");
    std::string text = symbols::ToText(variable, bytes);
    if (knob.type == model::KnobType::kSwitch) text = text == "0" || text == "false" ? "off" : "on";
    return text;
  }

  std::map<std::pair<pid_t, uint64_t>, std::unique_ptr<symbols::ProcessCode>> code_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeVariableActuator(const ActuatorHost& /*host*/) {
  return std::make_unique<VariableOf>();
}

}  // namespace attune::actuator
