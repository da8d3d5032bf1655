// What is read of a machine besides its topology: the kernel's text, but of other kernels and processors than those of
// the tests.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/capabilities.h"
#include "machine/latency.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  int64_t before = -1;
  for (const attune::machine::CpuInfo& cpu : attune::machine::ParseCpuInfo(text)) {
    if (cpu.cpu < 0 || cpu.cpu < before) __builtin_trap();
    before = cpu.cpu;
    for (const std::string& flag : cpu.flags) {
      if (flag.empty() || flag.find(' ') != std::string::npos) __builtin_trap();
    }
  }
  attune::machine::StealTicks(text);
  return 0;
}
