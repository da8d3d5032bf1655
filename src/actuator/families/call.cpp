// Settings of libraries that have a function to set them.
//
//   how.library   beginning of the library's file name
//   how.needs     the same of another one that only those processes have which the knob is for; may be missing
//   how.set       void or int set(int)
//   how.read      int read(); or
//   how.returns   "old": set() returns the value of before

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "actuator/actuators.h"
#include "actuator/remote_call.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

std::string How(const model::Knob& knob, const std::string& key) {
  const auto found = knob.how.find(key);
  return found == knob.how.end() ? std::string() : found->second;
}

class CallOf : public model::Actuator {
 public:
  explicit CallOf(ActuatorHost host) : host_(std::move(host)) {}

  bool WaitsForProgram() const override { return true; }

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    ATTUNE_TRY(std::string value, Value(knob, target));
    return std::vector<model::KnobSetting>{{"", std::move(value)}};
  }

  /// A set() that returns the old value replaces the read-back: each call takes a safe point of the program.
  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const int64_t old, Set(knob, target, ToNumber(knob, setting.value)));
    if (How(knob, "returns") == "old") {
      std::string& known = known_[{knob.name, target.pid, target.start_ticks}];
      const std::string before = std::exchange(known, setting.value);
      if (!before.empty() && before != ToValue(knob, old)) return NotTaken(knob, "", before, ToValue(knob, old));
      return setting.value;
    }
    ATTUNE_TRY(std::string is, Value(knob, target));
    if (is != setting.value) return NotTaken(knob, "", setting.value, is);
    return is;
  }

 private:
  static int64_t ToNumber(const model::Knob& knob, std::string_view value) {
    if (knob.type == model::KnobType::kSwitch) return value == "on" ? 1 : 0;
    int64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
  }
  /// The functions return int, or bool: what is above their bits is anything.
  static std::string ToValue(const model::Knob& knob, int64_t result) {
    if (knob.type == model::KnobType::kSwitch) return (result & 0xff) != 0 ? "on" : "off";
    return std::to_string(static_cast<int32_t>(result));
  }

  Result<int64_t> Set(const model::Knob& knob, const model::KnobTarget& target, int64_t value) const {
    return CallRemotely(host_, target.pid, How(knob, "library"), How(knob, "set"), {value, 0});
  }

  Result<std::string> Value(const model::Knob& knob, const model::KnobTarget& target) {
    if (const std::string read = How(knob, "read"); !read.empty()) {
      ATTUNE_TRY(const int64_t result, CallRemotely(host_, target.pid, How(knob, "library"), read));
      return ToValue(knob, result);
    }
    if (How(knob, "returns") != "old")
      return Error{Errc::kInvalidArgument, fmt::format("{}: how.read is missing, or how.returns = \"old\"", knob.name),
                   ""};
    if (const std::string needs = How(knob, "needs"); !needs.empty() && host_.find_function) {
      const auto found = host_.find_function(target.pid, needs, "");
      if (!found.ok()) return found.error();
    }
    std::string& known = known_[{knob.name, target.pid, target.start_ticks}];
    if (!known.empty()) return known;
    ATTUNE_TRY(const int64_t old, Set(knob, target, 0));
    known = ToValue(knob, old);
    if (ToNumber(knob, known) == 0) return known;
    ATTUNE_TRY(const int64_t ignored, Set(knob, target, ToNumber(knob, known)));
    static_cast<void>(ignored);
    return known;
  }

  const ActuatorHost host_;
  /// By knob and process, where set() alone would tell.
  std::map<std::tuple<std::string, pid_t, uint64_t>, std::string> known_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeCallActuator(const ActuatorHost& host) { return std::make_unique<CallOf>(host); }

}  // namespace attune::actuator
