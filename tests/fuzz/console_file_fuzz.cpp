/// Console files, files of defaults, and what lies beside the first in the folder of a run.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "console/console_file.h"
#include "console/console_runs.h"
#include "console/inherited.h"
#include "session/core/option_file.h"

using namespace attune;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto run = console::ParseConsoleFile(text, "run.toml"); run.ok()) {
    // What was read is what is written.
    const std::string written = console::ToToml(*run);
    const auto again = console::ParseConsoleFile(written, "run.toml");
    if (!again.ok() || console::ToToml(*again) != written || console::ToJson(*again) != console::ToJson(*run))
      std::abort();
    static_cast<void>(console::EnvironmentOf(*run));
  }
  if (const auto settings = session::ParseDefaults(text, "defaults.toml", session::kInRun); settings.ok()) {
    session::OptionValues values;
    for (const session::OptionSetting& setting : *settings) {
      if (!values.Take(setting)) std::abort();
    }
    static_cast<void>(session::CommandLineOf("run", values, {}));
  }
  if (const auto state = console::RunStateFromJson(text); state.ok()) {
    const auto again = console::RunStateFromJson(console::ToJson(*state));
    if (!again.ok() || console::ToJson(*again) != console::ToJson(*state)) std::abort();
  }
  static_cast<void>(console::ProcessIdFromText(text));
  static_cast<void>(console::Inherited::Parse(std::string(text)).ok());
  return 0;
}
