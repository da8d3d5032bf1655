#include "track/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace attune::track {
namespace {

/// Takes a hexadecimal number and the character behind it.
bool TakeHex(std::string_view& text, char behind, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != behind) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

/// "55d0c0a00000-55d0c0a02000 r-xp 00001000 fe:00 1234    /usr/bin/solver"
std::optional<MappedFile> ParseLine(std::string_view line) {
  MappedFile file;
  if (!TakeHex(line, '-', file.start) || !TakeHex(line, ' ', file.end) || file.start >= file.end) return std::nullopt;
  const size_t flags = line.find(' ');
  if (flags == std::string_view::npos) return std::nullopt;
  line.remove_prefix(flags + 1);
  if (!TakeHex(line, ' ', file.offset)) return std::nullopt;
  constexpr std::string_view kVdso = "[vdso]";
  size_t path = line.find('/');
  if (path == std::string_view::npos && line.ends_with(kVdso)) path = line.size() - kVdso.size();
  const size_t inode = line.find(' ');  // behind the device
  if (path == std::string_view::npos || inode == std::string_view::npos) return std::nullopt;
  file.path = line.substr(path);
  line.remove_prefix(inode + 1);
  std::from_chars(line.data(), line.data() + line.size(), file.inode);
  return file;
}

}  // namespace

std::vector<MappedFile> ParseMemoryMap(std::string_view text) {
  std::vector<MappedFile> map;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto file = ParseLine(text.substr(0, end))) map.push_back(*std::move(file));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::sort(map.begin(), map.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return map;
}

Result<std::vector<MappedFile>> ReadMemoryMap(const HostRoot& host, int64_t pid) {
  ATTUNE_TRY(const std::string text, host.ReadFile(fmt::format("/proc/{}/maps", pid)));
  return ParseMemoryMap(text);
}

const MappedFile* FindMapped(const std::vector<MappedFile>& map, uint64_t address) {
  const auto after =
      std::upper_bound(map.begin(), map.end(), address, [](uint64_t a, const auto& file) { return a < file.start; });
  if (after == map.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

}  // namespace attune::track
