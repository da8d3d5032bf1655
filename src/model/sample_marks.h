#pragma once
/// Marks in the call paths of CPU samples (table `stacks`): places that are no code, and say what a thread did where
/// the mark stands. A name in brackets, as `[kernel]`.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::model {

/// Below the place of a loop that only another thread can end.
inline constexpr std::string_view kSpinningMark = "[spinning]";
/// Below the place of an instruction that updates memory in one step (lock prefix, xchg).
inline constexpr std::string_view kAtomicMark = "[atomic update]";
/// In front of the kernel: a call that asks whether something is there, and has a time limit of 0.
inline constexpr std::string_view kNoWaitMark = "[does not wait]";

/// In front of the kernel: a read or write of few bytes. "[at most 8 bytes]", a power of two.
inline constexpr int64_t kMostSmallBytes = 512;
inline constexpr std::string_view kSmallMarkBegin = "[at most ";

/// @param bytes from 0 to kMostSmallBytes
inline std::string SmallMark(int64_t bytes) {
  int64_t most = 1;
  while (most < bytes) most *= 2;
  return std::string(kSmallMarkBegin) + std::to_string(most) + (most == 1 ? " byte]" : " bytes]");
}

/// The number of a SmallMark(); nullopt: another name.
inline std::optional<int64_t> BytesOfMark(std::string_view name) {
  if (!name.starts_with(kSmallMarkBegin)) return std::nullopt;
  name.remove_prefix(kSmallMarkBegin.size());
  int64_t bytes = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), bytes);
  return read.ec == std::errc() ? std::optional(bytes) : std::nullopt;
}

}  // namespace attune::model
