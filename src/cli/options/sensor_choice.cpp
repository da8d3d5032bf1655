#include "cli/options/sensor_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "sensor/registry.h"

namespace attune::cli {
namespace {

using session::SensorChoice;

constexpr int64_t kSlowByNatureNs = 200'000'000;

struct Item {
  std::string name;
  std::optional<std::string> option;    ///< behind the colon
  std::optional<std::string> interval;  ///< behind the at
};

/// Cuts what stands behind the last `separator` off the text, unless that is part of a path.
std::optional<std::string> CutTail(std::string& text, char separator) {
  const size_t at = text.rfind(separator);
  if (at == std::string::npos || text.find('/', at) != std::string::npos) return std::nullopt;
  std::string tail = text.substr(at + 1);
  text.resize(at);
  return tail;
}

Result<Item> ParseItem(const std::string& text) {
  Item item;
  item.name = text;
  item.interval = CutTail(item.name, '@');
  item.option = CutTail(item.name, ':');
  if (item.name.empty() || item.option == "" || item.interval == "") {
    return Error{Errc::kInvalidArgument, fmt::format("--sensors: '{}' is not {}", text, kSensorGrammar),
                 "as in cpu, cpu:sum, cpu@10ms or cpu:sum@10ms"};
  }
  return item;
}

Result<bool> ParseSum(const Item& item) {
  if (!item.option) return false;
  if (*item.option == "sum") return true;
  std::string hint = fmt::format("a sensor is given as {}", kSensorGrammar);
  if (ParseInterval(*item.option, "").ok()) {
    hint = fmt::format("an interval follows an @: {}@{}", item.name, *item.option);
  } else if (const std::string nearest = DidYouMean(*item.option, {"sum"}); !nearest.empty()) {
    hint = nearest;
  }
  return Error{Errc::kInvalidArgument, fmt::format("--sensors: {} knows no '{}'", item.name, *item.option), hint};
}

Result<SensorChoice> ParseChoice(const std::string& text, int64_t interval_ns) {
  ATTUNE_TRY(const Item item, ParseItem(text));
  // The session does not run in this folder.
  SensorChoice choice{.name = sensor::WithAbsolutePaths(item.name), .interval_ns = interval_ns, .named = true};
  ATTUNE_TRY(choice.summed, ParseSum(item));
  if (item.interval) {
    ATTUNE_TRY(choice.interval_ns, ParseInterval(*item.interval, "--sensors: interval of " + item.name));
  }
  const auto known = sensor::MakeSensor(choice.name);
  if (!known.ok()) return known.error().WithContext("--sensors");
  return choice;
}

std::vector<SensorChoice> EverySensor(int64_t interval_ns, bool has_program) {
  std::vector<SensorChoice> choices;
  for (const auto& sensor : sensor::MakeAllSensors()) {
    const model::SensorInfo& info = sensor->Info();
    if (info.by_request || (info.needs_program && !has_program)) continue;
    const bool slow = info.default_interval_ns >= kSlowByNatureNs;
    // Sensors that others added, and those that attune describes, are taken only where they are available: nobody
    // asked for them. The session finds out, as that may take long.
    choices.push_back(
        {.name = std::string(info.name),
         .interval_ns = interval_ns > 0 && slow ? std::max(interval_ns, info.default_interval_ns) : interval_ns,
         .only_if_here = !info.file.empty()});
  }
  return choices;
}

}  // namespace

Result<std::vector<SensorChoice>> ChooseSensors(const std::vector<std::string>& lists, const std::string& interval,
                                                bool has_program) {
  int64_t interval_ns = 0;
  if (!interval.empty()) {
    ATTUNE_TRY(interval_ns, ParseInterval(interval, "--interval"));
  }
  std::vector<SensorChoice> choices;
  bool none = false;
  for (const std::string& list : lists) {
    for (const std::string_view part : Split(list, ",")) {
      const std::string item(part);
      none = none || item == "none";
      if (item == "none") continue;
      ATTUNE_TRY(SensorChoice choice, ParseChoice(item, interval_ns));
      if (std::any_of(choices.begin(), choices.end(), [&](const auto& other) { return other.name == choice.name; })) {
        return Error{Errc::kInvalidArgument, fmt::format("--sensors: {} is given twice", choice.name),
                     fmt::format("give it once, as {}", kSensorGrammar)};
      }
      choices.push_back(std::move(choice));
    }
  }
  if (none && !choices.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("--sensors: none and {} exclude each other", choices[0].name), ""};
  }
  if (lists.empty()) choices = EverySensor(interval_ns, has_program);
  return choices;
}

}  // namespace attune::cli
