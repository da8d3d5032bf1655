/// What a console file says, and what lies beside it in the folder of a run.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "session/console_file.h"
#include "session/console_runs.h"
#include "session/inherited.h"

using namespace attune;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto run = session::ParseConsoleFile(text, "run.toml"); run.ok()) {
    // What was read is what is written.
    const std::string written = session::ToToml(*run);
    const auto again = session::ParseConsoleFile(written, "run.toml");
    if (!again.ok() || session::ToToml(*again) != written || session::ToJson(*again) != session::ToJson(*run))
      std::abort();
    static_cast<void>(session::EnvironmentOf(*run));
  }
  if (const auto state = session::RunStateFromJson(text); state.ok()) {
    const auto again = session::RunStateFromJson(session::ToJson(*state));
    if (!again.ok() || session::ToJson(*again) != session::ToJson(*state)) std::abort();
  }
  static_cast<void>(session::ProcessIdFromText(text));
  static_cast<void>(session::Inherited::Parse(std::string(text)).ok());
  return 0;
}
