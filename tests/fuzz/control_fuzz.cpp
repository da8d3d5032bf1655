// What other processes hand to a session as text: control lines, answers, info.json, a process's environment.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "session/core/control.h"
#include "session/core/job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto command = session::ParseControlLine(text);
      command.ok() && command->verb == session::Verb::kInterval &&
      (command->interval_ns < kMinIntervalNs || command->interval_ns > kMaxIntervalNs))
    __builtin_trap();
  (void)session::ErrorFromReply(text);
  if (auto info = session::SessionInfoFromJson(text); info.ok()) (void)session::ToJson(*info);
  if (session::RankFromEnvironment(text) < -1) __builtin_trap();
  return 0;
}
