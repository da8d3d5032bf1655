#include "counter/vendor_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/user_file.h"
#include "counter/event_text.h"

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
  if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
  if (!found->is_string()) return std::nullopt;
  const std::string& text = found->get_ref<const std::string&>();
  return EventNumber(text.substr(0, text.find(',')));
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

/// Fields with numbers and the terms that they become, as in the kernel's tools/perf/pmu-events/jevents.py.
constexpr std::pair<const char*, const char*> kTerms[] = {{"CounterMask", "cmask"},     {"Invert", "inv"},
                                                          {"EdgeDetect", "edge"},       {"AnyThread", "any"},
                                                          {"PortMask", "ch_mask"},      {"FCMask", "fc_mask"},
                                                          {"NodeType", "type"},         {"RdWrMask", "rdwrmask"},
                                                          {"SliceId", "sliceid"},       {"ThreadMask", "threadmask"},
                                                          {"EnAllCores", "enallcores"}, {"EnAllSlices", "enallslices"}};

/// A field that is there and says something.
bool IsSet(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return false;
  if (!found->is_string()) return true;
  constexpr std::string_view kNothing[] = {"", "na", "NA", "N/A", "null", "None", "0"};
  return std::ranges::find(kNothing, found->get_ref<const std::string&>()) == std::end(kNothing);
}

/// The terms of one event, or the first field that cannot be one.
class TermsOfRow {
 public:
  TermsOfRow(const Json& row, VendorEvent& event) : row_(row), event_(event) {}

  void AddAll(uint64_t code) {
    event_.terms = fmt::format("event={:#x}", code | Number("ExtSel") << 8);
    if (const uint64_t mask = Number("UMask") | Number("UMaskExt") << 8; mask != 0) Add("umask", mask);
    for (const auto& [key, term] : kTerms) {
      if (const uint64_t value = Number(key); value != 0) Add(term, value);
    }
    AddRegister();
    if (IsSet(row_, "Filter")) AddFilter(row_.at("Filter"));
  }

 private:
  void Add(std::string_view term, uint64_t value) { event_.terms += fmt::format(",{}={:#x}", term, value); }

  void Lack(const char* key) {
    if (event_.lacking.empty())
      event_.lacking = fmt::format("{} {}", key, CleanText(row_.at(key).dump().substr(0, kMostTextBytes)));
  }

  /// 0: it is not there, or no number.
  uint64_t Number(const char* key) {
    const auto number = NumberOf(row_, key);
    if (!number && IsSet(row_, key)) Lack(key);
    return number.value_or(0);
  }

  void AddRegister() {
    const uint64_t reg = Number("MSRIndex"), value = Number("MSRValue");
    if (reg == 0) return;
    if (const std::string_view term = TermOfRegister(reg); !term.empty()) return Add(term, value);
    if (value != 0) Lack("MSRIndex");
  }

  /// "filter_opc=0x182,filter_nid=0x1"; others name bits of a register: "CBoFilter[31:24]".
  void AddFilter(const Json& filter) {
    if (!filter.is_string()) return Lack("Filter");
    for (const std::string_view term : Split(filter.get_ref<const std::string&>(), ",")) {
      const size_t equals = term.find('=');
      const bool is_term = equals != std::string_view::npos && equals > 0 &&
                           term.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == equals &&
                           EventNumber(term.substr(equals + 1)).has_value();
      if (!is_term) return Lack("Filter");
      event_.terms += fmt::format(",{}", term);
    }
  }

  const Json& row_;
  VendorEvent& event_;
};

std::optional<VendorEvent> EventOf(const Json& row) {
  const auto code = NumberOf(row, "EventCode");
  VendorEvent event{.name = TextOf(row, "EventName"),
                    .unit = TextOf(row, "Unit"),
                    .terms = "",
                    .description = TextOf(row, "BriefDescription"),
                    .lacking = ""};
  if (!code || event.name.empty()) return std::nullopt;
  if (event.description.empty()) event.description = TextOf(row, "PublicDescription");
  TermsOfRow(row, event).AddAll(*code);
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
