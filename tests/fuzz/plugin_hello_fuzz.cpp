// What a plug-in says of itself: its process may have been overwritten by it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sensor/plugin/plugin_channel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attune::sensor::DecodeHello;
  const auto hello = DecodeHello({reinterpret_cast<const char*>(data), size});
  if (!hello.ok() || !hello->failure.empty()) return 0;
  for (const auto& signal : hello->signals) {
    if (!attune::sensor::WhatIsWrong(signal).empty()) std::abort();
  }
  const auto again = DecodeHello(EncodeHello(*hello));
  if (!again.ok() || again->signals.size() != hello->signals.size()) std::abort();
  return 0;
}
