// What a process that runs a monitoring module says of itself, and how it is opened.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "module/module_channel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(attune::modules::DecodeOpen(text));
  const auto hello = attune::modules::DecodeHello(text);
  if (!hello.ok()) return 0;
  // What was accepted once is accepted again, and is the same.
  const auto again = attune::modules::DecodeHello(attune::modules::Encode(*hello));
  if (!again.ok() || !(*again == *hello)) std::abort();
  return 0;
}
