// Two texts in a row: what is parsed by difference must be what a parser without memory finds.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sensor/text/key_value_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t middle = input.find('\0');
  if (middle == std::string_view::npos) return 0;
  const std::string_view first = input.substr(0, middle);
  const std::string_view second = input.substr(middle + 1);
  attune::sensor::KeyValueText used, fresh;
  if (!used.Learn(first).ok() || !fresh.Learn(first).ok()) return 0;
  std::vector<int64_t> by_difference(used.Keys().size()), anew(used.Keys().size());
  used.Parse(second, by_difference);
  used.Parse(first, by_difference);
  used.Parse(second, by_difference);
  fresh.Parse({}, anew);  // forgets the text before
  fresh.Parse(second, anew);
  if (by_difference != anew) __builtin_trap();
  return 0;
}
