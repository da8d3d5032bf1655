#include "actuator/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attune::actuator {

Result<std::vector<MemoryRange>> OwnMemory(const HostRoot& host, pid_t pid) {
  ATTUNE_TRY(const std::string text, host.ReadFile(fmt::format("/proc/{}/maps", pid), 64u << 20));
  std::vector<MemoryRange> ranges;
  std::string_view rest = text;
  while (!rest.empty()) {  // "7f0000000000-7f0000200000 rw-p 00000000 00:00 0     [heap]"
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    MemoryRange range;
    const auto [dash, first] = std::from_chars(line.data(), line.data() + line.size(), range.begin, 16);
    if (first != std::errc() || dash == line.data() + line.size()) continue;
    const auto [blank, second] = std::from_chars(dash + 1, line.data() + line.size(), range.end, 16);
    if (second != std::errc()) continue;
    const std::string_view fields = line.substr(static_cast<size_t>(blank - line.data()));
    if (!fields.starts_with(" rw-p ") || fields.find(" 00:00 0") == std::string_view::npos) continue;
    if (fields.find("[stack]") == std::string_view::npos) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace attune::actuator
