#include "sensor/smart/smart_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace attune::sensor {
namespace {

using Json = nlohmann::json;
using model::kAbsent;

enum Place : size_t {
  kHealthy,
  kTemperature,
  kPowerOnTime,
  kReallocated,
  kPending,
  kUncorrectable,
  kUsed,
  kSpare,
  kMediaErrors,
  kCriticalWarning
};

/// The raw values of these count sectors with every maker; others pack several numbers into one.
constexpr std::array<std::pair<int64_t, Place>, 3> kAttributes{
    {{5, kReallocated}, {197, kPending}, {198, kUncorrectable}}};
/// Bits of smartctl's exit status: what follows in it was not read.
constexpr int64_t kNotOpened = 2;
constexpr size_t kLongestMessage = 200;

/// The member, or a null.
const Json& Member(const Json& json, std::string_view key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

/// A whole number that is not negative; kAbsent for everything else.
int64_t Count(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    return value > static_cast<uint64_t>(INT64_MAX) ? kAbsent : static_cast<int64_t>(value);
  }
  if (!json.is_number_integer()) return kAbsent;
  const auto value = json.get<int64_t>();
  return value < 0 ? kAbsent : value;
}

/// Degrees may be below zero, but are never far from what disks live in.
int64_t Degrees(const Json& json) {
  if (!json.is_number()) return kAbsent;
  const double value = json.get<double>();
  return std::abs(value) <= 200 ? std::llround(value) : kAbsent;
}

void TakeAttributes(const Json& attributes, SmartValues& values) {
  const Json& table = Member(attributes, "table");
  if (!table.is_array()) return;
  for (const Json& row : table) {
    const int64_t id = Count(Member(row, "id"));
    for (const auto& [attribute, place] : kAttributes) {
      if (id == attribute) values[place] = Count(Member(Member(row, "raw"), "value"));
    }
  }
}

void TakeNvme(const Json& log, SmartValues& values) {
  if (!log.is_object()) return;
  values[kCriticalWarning] = Count(Member(log, "critical_warning"));
  values[kUsed] = Count(Member(log, "percentage_used"));
  values[kSpare] = Count(Member(log, "available_spare"));
  values[kMediaErrors] = Count(Member(log, "media_errors"));
  if (values[kTemperature] == kAbsent) values[kTemperature] = Degrees(Member(log, "temperature"));
  if (values[kPowerOnTime] == kAbsent) values[kPowerOnTime] = Count(Member(log, "power_on_hours"));
}

void TakeScsi(const Json& json, SmartValues& values) {
  if (const int64_t defects = Count(Member(json, "scsi_grown_defect_list")); defects != kAbsent)
    values[kReallocated] = defects;
  if (const int64_t used = Count(Member(json, "scsi_percentage_used_endurance_indicator")); used != kAbsent)
    values[kUsed] = used;
}

/// smartctl's own words, in one line.
std::string Messages(const Json& smartctl) {
  std::string text;
  const Json& messages = Member(smartctl, "messages");
  if (!messages.is_array()) return text;
  for (const Json& message : messages) {
    const Json& words = Member(message, "string");
    if (!words.is_string() || text.size() > kLongestMessage) continue;
    text += (text.empty() ? "" : "; ") + words.get<std::string>().substr(0, kLongestMessage);
  }
  return CleanText(text);
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool SmartReport::HasAny() const {
  return std::any_of(values.begin(), values.end(), [](int64_t value) { return value != kAbsent; });
}

Result<SmartReport> ParseSmart(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const Json& smartctl = Member(json, "smartctl");
  if (!smartctl.is_object()) return Error{Errc::kCorrupt, "smartctl did not answer in JSON", "it must be 7.0 or newer"};
  SmartReport report;
  report.values.fill(kAbsent);
  SmartValues& values = report.values;
  const std::string said = Messages(smartctl);
  const int64_t exit_status = Count(Member(smartctl, "exit_status"));
  if (const Json& passed = Member(Member(json, "smart_status"), "passed"); passed.is_boolean())
    values[kHealthy] = passed.get<bool>() ? 1 : 0;
  values[kTemperature] = Degrees(Member(Member(json, "temperature"), "current"));
  values[kPowerOnTime] = Count(Member(Member(json, "power_on_time"), "hours"));
  TakeAttributes(Member(json, "ata_smart_attributes"), values);
  TakeNvme(Member(json, "nvme_smart_health_information_log"), values);
  TakeScsi(json, values);
  if (report.HasAny()) return report;
  report.asleep = Contains(said, "STANDBY") || Contains(said, "SLEEP");
  if (report.asleep) return report;
  if (Contains(said, "Permission denied") || Contains(said, "Operation not permitted"))
    return Error{Errc::kPermission, said, "smartctl needs root, or CAP_SYS_RAWIO and CAP_SYS_ADMIN"};
  const bool opened = exit_status == kAbsent || (exit_status & kNotOpened) == 0;
  const std::string otherwise = opened ? "the disk says nothing of its health" : "the disk could not be asked";
  return Error{Errc::kUnavailable, said.empty() ? otherwise : said, ""};
}

}  // namespace attune::sensor
