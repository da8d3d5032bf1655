// Files of knobs, values for them, journals of changes, and settings that were kept.

#include <cstdint>
#include <string_view>

#include "model/knob_file.h"
#include "session/tuning/journal.h"
#include "session/tuning/settings_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto knobs = attune::model::ParseKnobs(text, "fuzz.toml"); knobs.ok()) {
    for (const attune::model::Knob& knob : *knobs) {
      static_cast<void>(attune::model::RangeOf(knob));
      static_cast<void>(attune::model::CheckValue(knob, text.substr(0, 20)));
      static_cast<void>(attune::model::PermanentText(knob, "{value}"));
    }
    static_cast<void>(attune::session::ParseSettings(text, "fuzz.toml", *knobs));
  }
  static_cast<void>(attune::session::ParseJournal(text));
  return 0;
}
