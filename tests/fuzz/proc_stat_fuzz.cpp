// /proc/PID/stat holds a name that the observed program chose.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "track/process_usage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto stat = attune::track::ParseProcStat(text);
  if (stat.ok()) {
    if (stat->pid <= 0 || stat->name.size() > text.size()) __builtin_trap();
    attune::track::StartNs(*stat);
    attune::track::UsageOf(*stat);
    for (const char c : attune::CleanText(stat->name)) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) __builtin_trap();
    }
  }
  attune::model::ProcessUsage usage;
  attune::track::AddStatus(text, usage);
  return 0;
}
