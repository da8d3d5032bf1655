// Words that the probe in a program reads.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "actuator/actuators.h"
#include "actuator/threads.h"

namespace attune::actuator {
namespace {

class ProbeWord : public model::Actuator {
 public:
  explicit ProbeWord(model::ProbeChannel* probe) : probe_(probe) {}

  Result<std::vector<model::KnobSetting>> Read(const model::Knob& knob, const model::KnobTarget& target) override {
    ATTUNE_TRY(const uint32_t value, Value(knob, target));
    return std::vector<model::KnobSetting>{{"", TextOf(knob, value)}};
  }

  Result<std::string> Write(const model::Knob& knob, const model::KnobTarget& target,
                            const model::KnobSetting& setting) override {
    ATTUNE_TRY(const std::string word, WordOf(knob, target));
    uint32_t value = 0;
    std::from_chars(setting.value.data(), setting.value.data() + setting.value.size(), value);
    if (const auto at = std::ranges::find(knob.words, setting.value); at != knob.words.end())
      value = static_cast<uint32_t>(at - knob.words.begin());
    ATTUNE_CHECK_OK(probe_->WriteWord(target.pid, word, value));
    ATTUNE_TRY(const uint32_t read, probe_->ReadWord(target.pid, word));
    const std::string is = TextOf(knob, read);
    if (is != setting.value) return NotTaken(knob, "", setting.value, is);
    return is;
  }

 private:
  /// A knob with words has their numbers in the probe.
  static std::string TextOf(const model::Knob& knob, uint32_t value) {
    return value < knob.words.size() ? knob.words[value] : std::to_string(value);
  }

  Result<std::string> WordOf(const model::Knob& knob, const model::KnobTarget& target) const {
    const auto found = knob.how.find("word");
    if (found == knob.how.end())
      return Error{Errc::kInvalidArgument, fmt::format("{}: how.word is missing", knob.name), ""};
    if (probe_ == nullptr)
      return Error{Errc::kNotFound, fmt::format("{}: process {} was not started by attune", knob.name, target.pid),
                   "attune tune -- PROGRAM starts it with the probe"};
    return found->second;
  }

  Result<uint32_t> Value(const model::Knob& knob, const model::KnobTarget& target) const {
    ATTUNE_TRY(const std::string word, WordOf(knob, target));
    return probe_->ReadWord(target.pid, word);
  }

  model::ProbeChannel* const probe_;
};

}  // namespace

std::unique_ptr<model::Actuator> MakeProbeWordActuator(const ActuatorHost& host) {
  return std::make_unique<ProbeWord>(host.probe);
}

}  // namespace attune::actuator
