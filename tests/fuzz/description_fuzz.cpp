// Descriptions of sensors: whatever the text is, it is a description or a mistake with its line; and a description can
// be tried on a host that has nothing.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sensor/declared/declared.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parsed = attune::sensor::ParseDescription(text, "/fuzz/fabric.toml");
  if (!parsed.ok()) {
    if (parsed.error().message.rfind("/fuzz/fabric.toml:", 0) != 0) std::abort();
    return 0;
  }
  const auto sensor = attune::sensor::MakeDeclared(*std::move(parsed));
  if (sensor->Prepare(attune::HostRoot("/nonexistent")).ok()) std::abort();
  return 0;
}
