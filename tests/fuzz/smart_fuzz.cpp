/// What smartctl says of a disk.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sensor/smart/smart_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto report = attune::sensor::ParseSmart({reinterpret_cast<const char*>(data), size});
  // Whatever is accepted says something, or that the disk sleeps.
  if (report.ok() && report->asleep == report->HasAny()) std::abort();
  if (!report.ok() && report.error().message.find('\n') != std::string::npos) std::abort();
  return 0;
}
