#pragma once
/// Numbers in the kernel's files, and when they were read.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/host_root.h"

namespace attune::shipped {

/// The text up to the first blank or end of line.
inline std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find_first_of(" \t\r\n")); }

/// The one number of a file. Nothing: no such file, "Unavailable", a negative number, or anything else.
inline std::optional<int64_t> ReadCount(const HostRoot& host, std::string_view path) {
  const auto text = host.ReadFile(path, 128);
  if (!text.ok()) return std::nullopt;
  const std::string_view word = FirstWord(*text);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0) return std::nullopt;
  return number;
}

inline std::string ReadWord(const HostRoot& host, std::string_view path) {
  return std::string(FirstWord(host.ReadFile(path, 128).value_or("")));
}

/// Time of reading a file that a notification of t_ns asks for: notifications come late, and rates need the time of the
/// reading itself. A captured tree changes in the time of who replays it.
inline int64_t ReadingTime(const HostRoot& host, int64_t t_ns) {
  if (!host.IsThisMachine()) return t_ns;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace attune::shipped
