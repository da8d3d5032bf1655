#include "counter/nearest_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/units.h"
#include "counter/libpfm_names.h"
#include "counter/vendor_events.h"

namespace attune::counter {
namespace {

constexpr const char* kTracefs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/// Two words of a kernel's names with a colon between them.
bool IsLikeTracepoint(std::string_view name) {
  const auto is_word = [](std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
  };
  const size_t colon = name.find(':');
  return colon != std::string_view::npos && is_word(name.substr(0, colon)) && is_word(name.substr(colon + 1));
}

/// Tracepoints of the name's subsystem, and of those that are called alike.
void AddTracepoints(const HostRoot& host, std::string_view name, std::vector<std::string>& names) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return;
  for (const char* folder : kTracefs) {
    const std::string events = fmt::format("{}/events", folder);
    const auto systems = host.List(events);
    if (!systems.ok()) continue;
    for (const std::string& system : NearestNames(name.substr(0, colon), *systems)) {
      const auto found = host.List(fmt::format("{}/{}", events, system));
      if (!found.ok()) continue;
      for (const std::string& one : *found) {
        if (one != "enable" && one != "filter") names.push_back(fmt::format("{}:{}", system, one));
      }
    }
    return;
  }
}

}  // namespace

std::optional<Error> TracepointsClosed(const HostRoot& host, std::string_view name) {
  // libpfm4 takes small letters, too: "inst_retired:any_x" is a mistake there.
  if (!IsLikeTracepoint(name) || !LibpfmModelsWith(std::string(name.substr(0, name.find(':')))).empty())
    return std::nullopt;
  bool is_refused = false;
  for (const char* folder : kTracefs) {
    const auto systems = host.List(fmt::format("{}/events", folder));
    if (systems.ok() && !systems->empty()) return std::nullopt;
    is_refused = is_refused || (!systems.ok() && systems.error().code == Errc::kPermission);
  }
  const std::string what = is_refused
                               ? fmt::format(
                                     "{0} is closed to this user (sudo, or sudo mount -o "
                                     "remount,mode=750,gid=GROUP {0})",
                                     *kTracefs)
                               : fmt::format("tracefs is not there (sudo mount -t tracefs tracefs {})", *kTracefs);
  return Error{Errc::kUnavailable, "tracepoints cannot be read here: " + what, ""};
}

std::string NearestEvents(const HostRoot& host, const std::vector<Pmu>& pmus, std::string_view name,
                          std::vector<std::string> names) {
  for (const Pmu& pmu : pmus) {
    for (const auto& [own, code] : NamedEvents(host, pmu)) names.push_back(own);
  }
  AddTracepoints(host, name, names);
  for (const PluginFile& file : VendorEventFiles()) {
    const auto events = ReadVendorEvents(file.file);
    if (!events.ok()) continue;
    for (const VendorEvent& event : *events) names.push_back(event.name);
  }
  std::ranges::move(LibpfmNamesHere(), std::back_inserter(names));
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  const std::string near = DidYouMean(name, names);
  if (!near.empty()) return near;
  // Makers write in capitals what people may not.
  std::string capitals(name);
  std::ranges::transform(capitals, capitals.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return DidYouMean(capitals, names);
}

}  // namespace attune::counter
