#pragma once
/// Quantities as people write and read them. The only place that parses or prints durations and sizes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune {

/// "10ms", "1s", "250us", "5m", "2h", "0.5s" to nanoseconds. A bare number is refused: it has no unit. Zero, negative
/// and absurd values are errors that name the limits. @param what names the option
Result<int64_t> ParseDurationNs(std::string_view text, std::string_view what, int64_t min_ns, int64_t max_ns);
/// The same for the time between two things, which can also be given as a rate: "1kHz", "10Hz".
Result<int64_t> ParseIntervalNs(std::string_view text, std::string_view what, int64_t min_ns, int64_t max_ns);
/// Limits of a sampling interval, for every way in which one can be given.
inline constexpr int64_t kMinIntervalNs = 100'000;            // 10 kHz
inline constexpr int64_t kMaxIntervalNs = 3'600'000'000'000;  // an hour
inline Result<int64_t> ParseInterval(std::string_view text, std::string_view what) {
  return ParseIntervalNs(text, what, kMinIntervalNs, kMaxIntervalNs);
}
/// "64MB", "1GiB", "512k" to bytes (k, M, G = 1024-based as file sizes are usually meant).
Result<uint64_t> ParseBytes(std::string_view text, std::string_view what);

std::string FormatDuration(int64_t ns);       ///< "1.25 s", "310 ms", "4.2 us"
std::string FormatBytes(uint64_t bytes);      ///< "12.3 MB"
std::string FormatCount(double value);        ///< "12.3k"
std::string FormatRealTime(int64_t real_ns);  ///< "2026-01-31 14:03:09" in local time

/// The names nearest to `wanted` (edit distance, prefix, substring), best first, at most `limit`.
std::vector<std::string> NearestNames(std::string_view wanted, const std::vector<std::string>& names, size_t limit = 3);
/// "did you mean a, b or c?", or "" without names.
std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace attune
