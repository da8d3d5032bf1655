#pragma once
/// Parses the output of `smartctl --json` for a disk.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/schema.h"

namespace attune::sensor {

/// The values of a disk, in the order of kSmartSignals.
inline constexpr size_t kSmartValues = 10;
inline constexpr std::array<std::string_view, kSmartValues> kSmartSignals{
    "healthy", "temperature", "power_on_time", "reallocated_sectors", "pending_sectors", "uncorrectable_sectors",
    "used",    "spare",       "media_errors",  "critical_warning"};
using SmartValues = std::array<int64_t, kSmartValues>;

struct SmartReport {
  SmartValues values;   ///< kAbsent: the disk does not say it
  bool asleep = false;  ///< the disk sleeps and was left to
  bool HasAny() const;
};

/// @param text what smartctl wrote; foreign bytes
/// @return kCorrupt: no JSON of smartctl; kPermission: the disk may not be opened; kUnavailable: it cannot say anything
///         (a virtual disk, one behind a controller), with smartctl's own words
Result<SmartReport> ParseSmart(std::string_view text);

}  // namespace attune::sensor
