/// Settings of alarms: the TOML file, an option's text, what a recording says of itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analysis/alarms/alarm_rule.h"
#include "session/core/alarm_config.h"

using namespace attune;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto settings = session::ParseAlarmFile(text, "alarms.toml"); settings.ok()) {
    const std::vector<analysis::TunedRule> rules = analysis::TuneAll(*settings);
    // What holds survives the way through a recording.
    const std::vector<analysis::TunedRule> back =
        analysis::TuneAll(analysis::AlarmSettingsFromText(analysis::ToText(rules)));
    for (size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].on != back[i].on || (rules[i].on && rules[i].threshold != back[i].threshold)) std::abort();
    }
  }
  analysis::AlarmSettings settings;
  static_cast<void>(analysis::AddAlarmSetting(text, settings).ok());
  static_cast<void>(analysis::AlarmSettingsFromText(text));
  return 0;
}
