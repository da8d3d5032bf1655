// What a file says for unwinding: any file may be loaded into a program.

#include <cstddef>
#include <cstdint>
#include <span>

#include "symbols/unwind_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const size_t pointer_bytes : {size_t{4}, size_t{8}}) {
    const attune::symbols::UnwindTable table(bytes, 0x1000, pointer_bytes);
    for (const attune::symbols::CodeRange& range : table.ranges()) {
      const auto found = table.At(range.begin);
      if (range.begin >= range.end || !found || found->begin != range.begin) __builtin_trap();
    }
  }
  return 0;
}
