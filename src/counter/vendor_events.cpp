#include "counter/vendor_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/user_file.h"

namespace attune::counter {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = 64u << 20;
constexpr size_t kMostTextBytes = 500;
constexpr char kWanted[] = "a file of events as github.com/intel/perfmon and the kernel's perf have them";

std::string TextOf(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_string()) return "";
  return CleanText(found->get<std::string>().substr(0, kMostTextBytes));
}

/// "0xB7,0xBB": of several the first. A number may be one of JSON's.
std::optional<uint64_t> NumberOf(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return std::nullopt;
  if (found->is_number_unsigned()) return found->get<uint64_t>();
  if (!found->is_string()) return std::nullopt;
  std::string text = found->get<std::string>();
  text.erase(std::min(text.find(','), text.size()));
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  uint64_t number = 0;
  const char* const begin = text.data() + (is_hex ? 2 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || end == begin) return std::nullopt;
  return number;
}

/// Registers that an event needs a value in, by the term that the kernel has for it.
std::string_view TermOfRegister(uint64_t number) {
  switch (number) {
    case 0x1a6:
    case 0x1a7: return "offcore_rsp";
    case 0x3f6: return "ldlat";
    case 0x3f7: return "frontend";
    default: return "";
  }
}

std::optional<VendorEvent> EventOf(const Json& row) {
  const auto code = NumberOf(row, "EventCode");
  VendorEvent event{.name = TextOf(row, "EventName"), .unit = TextOf(row, "Unit"), .terms = "", .description = ""};
  if (!code || event.name.empty()) return std::nullopt;
  event.description = TextOf(row, "BriefDescription");
  if (event.description.empty()) event.description = TextOf(row, "PublicDescription");
  event.terms = fmt::format("event={:#x}", *code);
  constexpr std::pair<const char*, const char*> kTerms[] = {
      {"UMask", "umask"}, {"CounterMask", "cmask"}, {"Invert", "inv"}, {"EdgeDetect", "edge"}, {"AnyThread", "any"}};
  for (const auto& [key, term] : kTerms) {
    if (const auto value = NumberOf(row, key); value && *value != 0)
      event.terms += fmt::format(",{}={:#x}", term, *value);
  }
  const auto reg = NumberOf(row, "MSRIndex"), value = NumberOf(row, "MSRValue");
  if (reg && value && !TermOfRegister(*reg).empty())
    event.terms += fmt::format(",{}={:#x}", TermOfRegister(*reg), *value);
  return event;
}

}  // namespace

Result<std::vector<VendorEvent>> ParseVendorEvents(std::string_view text, std::string_view file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(error.byte, text.size()));
    const auto line = 1 + std::count(text.begin(), end, '\n');
    return Error{Errc::kCorrupt, fmt::format("{}:{}: this is no JSON", file, line), kWanted};
  } catch (const Json::exception&) {
    return Error{Errc::kCorrupt, fmt::format("{}: it has a number that is too large", file), kWanted};
  }
  const Json& rows = json.is_object() ? json.value("Events", Json()) : json;
  if (!rows.is_array())
    return Error{Errc::kCorrupt, fmt::format("{}: it has no list of events", file),
                 "[{\"EventName\": ..., \"EventCode\": \"0xc0\", \"UMask\": \"0x1\"}, ...], or this as \"Events\""};
  std::vector<VendorEvent> events;
  for (const Json& row : rows) {
    if (!row.is_object()) continue;
    if (auto event = EventOf(row)) events.push_back(*std::move(event));
  }
  return events;
}

Result<std::vector<VendorEvent>> ReadVendorEvents(const std::string& file) {
  ATTUNE_TRY(const std::string text, ReadUserFile(file, kMostBytes));
  return ParseVendorEvents(text, file);
}

std::vector<PluginFile> VendorEventFiles() { return FindPluginFiles(PluginFolders("events", "share"), {".json"}); }

}  // namespace attune::counter
