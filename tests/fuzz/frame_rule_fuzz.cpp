// The unwind tables of a module of the observed program, as the probe reads them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "probe/hook/unwind.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  uint32_t index_at = 0;
  uint32_t target = 0;
  std::memcpy(&index_at, data, 4);
  std::memcpy(&target, data + 4, 4);
  std::vector<uint8_t> module(data + 8, data + size);  // a copy of its own: what is read beyond it is found
  const auto start = reinterpret_cast<uintptr_t>(module.data());
  const attune::probe::hook::ModuleBounds bounds{.start = start,
                                                 .end = start + module.size(),
                                                 .bias = 0,
                                                 .path = "",
                                                 .frame_index = module.data() + index_at % (module.size() + 1)};
  static_cast<void>(attune::probe::hook::FindFrameRule(bounds, start + target % (module.size() + 1)));
  return 0;
}
