#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

namespace attune {
namespace {

struct UnitFactor {
  std::string_view name;
  double factor;
};

constexpr std::array kTimeUnits{UnitFactor{"ns", 1},    UnitFactor{"us", 1e3},   UnitFactor{"ms", 1e6},
                                UnitFactor{"s", 1e9},   UnitFactor{"min", 60e9}, UnitFactor{"m", 60e9},
                                UnitFactor{"h", 3600e9}};
constexpr std::array kRateUnits{UnitFactor{"Hz", 1}, UnitFactor{"hz", 1}, UnitFactor{"kHz", 1e3},
                                UnitFactor{"khz", 1e3}};
constexpr std::array kByteUnits{UnitFactor{"", 1},          UnitFactor{"B", 1},        UnitFactor{"k", 1 << 10},
                                UnitFactor{"K", 1 << 10},   UnitFactor{"kB", 1 << 10}, UnitFactor{"KB", 1 << 10},
                                UnitFactor{"KiB", 1 << 10}, UnitFactor{"M", 1 << 20},  UnitFactor{"MB", 1 << 20},
                                UnitFactor{"MiB", 1 << 20}, UnitFactor{"G", 1 << 30},  UnitFactor{"GB", 1 << 30},
                                UnitFactor{"GiB", 1 << 30}};

/// Splits "0.5ms" into 0.5 and "ms"; false if there is no number in front.
bool SplitNumber(std::string_view text, double& number, std::string_view& unit) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return false;
  unit = text.substr(static_cast<size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return true;
}

template <class Units>
const UnitFactor* Find(const Units& units, std::string_view name) {
  for (const UnitFactor& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Result<int64_t> ParseTime(std::string_view text, std::string_view what, int64_t min_ns, int64_t max_ns,
                          bool takes_rates) {
  const std::string range = fmt::format("between {} and {}", FormatDuration(min_ns), FormatDuration(max_ns));
  const std::string hint =
      fmt::format("write it with a unit, as in {}, {}", takes_rates ? "10ms, 1s or 100Hz" : "500ms, 10s or 5m", range);
  double number = 0;
  std::string_view unit;
  if (!SplitNumber(text, number, unit))
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not a time", what, text), hint};
  double ns = 0;
  if (const UnitFactor* time = Find(kTimeUnits, unit)) {
    ns = number * time->factor;
  } else if (const UnitFactor* rate = Find(kRateUnits, unit)) {
    if (!takes_rates)
      return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is a rate, and not how long", what, text), hint};
    ns = number > 0 ? 1e9 / (number * rate->factor) : 0;
  } else {
    const std::string reason = unit.empty() ? "has no unit" : fmt::format("has the unknown unit '{}'", unit);
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' {}", what, text, reason), hint};
  }
  if (!(ns >= static_cast<double>(min_ns) && ns <= static_cast<double>(max_ns))) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is out of range", what, text), "it must lie " + range};
  }
  return static_cast<int64_t>(std::llround(ns));
}

}  // namespace

Result<int64_t> ParseDurationNs(std::string_view text, std::string_view what, int64_t min_ns, int64_t max_ns) {
  return ParseTime(text, what, min_ns, max_ns, false);
}

Result<int64_t> ParseIntervalNs(std::string_view text, std::string_view what, int64_t min_ns, int64_t max_ns) {
  return ParseTime(text, what, min_ns, max_ns, true);
}

Result<uint64_t> ParseBytes(std::string_view text, std::string_view what) {
  double number = 0;
  std::string_view unit;
  const UnitFactor* factor = nullptr;
  if (SplitNumber(text, number, unit)) factor = Find(kByteUnits, unit);
  if (factor == nullptr || number <= 0 || number * factor->factor > 1e18) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not a size", what, text),
                 "write it as 512k, 64MB or 2GB"};
  }
  return static_cast<uint64_t>(number * factor->factor);
}

std::string FormatDuration(int64_t ns) {
  const double value = static_cast<double>(ns);
  const double magnitude = std::abs(value);
  if (magnitude < 1e3) return fmt::format("{} ns", ns);
  if (magnitude < 999.5e3) return fmt::format("{:.3g} us", value / 1e3);  // 1e+03 from there on
  if (magnitude < 999.5e6) return fmt::format("{:.3g} ms", value / 1e6);
  if (magnitude < 120e9) return fmt::format("{:.2f} s", value / 1e9);
  const int64_t seconds = ns / 1'000'000'000;
  if (magnitude < 7200e9) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array kNames{"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string FormatCount(double value) {
  constexpr std::array kSuffixes{"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (std::abs(value) >= 10000 && unit + 1 < kSuffixes.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}{}", value, kSuffixes[unit]);
}

std::string FormatRealTime(int64_t real_ns) {
  const std::time_t seconds = real_ns / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::vector<std::string> NearestNames(std::string_view wanted, const std::vector<std::string>& names, size_t limit) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    const bool contained = wanted.size() >= 2 && name.find(wanted) != std::string::npos;
    const size_t distance = contained ? 1 : EditDistance(wanted, name);
    if (contained || distance <= std::max<size_t>(2, wanted.size() / 2)) ranked.emplace_back(distance, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (size_t i = 0; i < ranked.size() && i < limit; ++i) result.push_back(ranked[i].second);
  return result;
}

std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& names) {
  const std::vector<std::string> nearest = NearestNames(wanted, names);
  if (nearest.empty()) return "";
  std::string text = "did you mean ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += nearest[i];
  }
  return text + "?";
}

}  // namespace attune
