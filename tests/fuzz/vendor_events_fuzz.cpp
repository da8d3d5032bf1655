// Files of events that makers of processors publish.

#include <cstdint>
#include <string_view>

#include "counter/vendor_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static_cast<void>(attune::counter::ParseVendorEvents({reinterpret_cast<const char*>(data), size}, "fuzz.json"));
  return 0;
}
