#include "symbols/jit_map.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace attune::symbols {
namespace {

/// Takes a hexadecimal number and the space behind it; it may begin with "0x".
std::optional<uint64_t> TakeHex(std::string_view& line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  const auto at = static_cast<size_t>(end - line.data());
  if (error != std::errc() || at == line.size() || line[at] != ' ') return std::nullopt;
  line.remove_prefix(at + 1);
  return value;
}

}  // namespace

JitMap::JitMap(std::string_view text) {
  while (!text.empty() && functions_.size() < kMaxFunctions) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto begin = TakeHex(line);
    const auto bytes = begin ? TakeHex(line) : std::nullopt;
    if (bytes && *bytes > 0 && !line.empty()) functions_.push_back({*begin, *bytes, std::string(line)});
  }
  std::ranges::reverse(functions_);
  std::ranges::stable_sort(functions_, {}, &JitFunction::begin);
  const auto again = std::ranges::unique(functions_, {}, &JitFunction::begin);
  functions_.erase(again.begin(), again.end());
}

const JitFunction* JitMap::At(uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &JitFunction::begin);
  if (after == functions_.begin()) return nullptr;
  const JitFunction& function = *std::prev(after);
  return address - function.begin < function.bytes ? &function : nullptr;
}

}  // namespace attune::symbols
