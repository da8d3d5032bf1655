#include "sensor/declared/declared_hardware.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/privilege.h"
#include "base/user_file.h"

namespace attune::sensor {
namespace {

constexpr size_t kMaxMatches = 4096;

bool HasStar(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

void ReplaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

/// The number that a text ends with; kAbsent: none.
int64_t NumberAtEnd(std::string_view text) {
  size_t at = text.size();
  while (at > 0 && std::isdigit(static_cast<unsigned char>(text[at - 1])) != 0) --at;
  int64_t number = model::kAbsent;
  std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

/// Variable part of `name`: without the fixed text before the first star and behind the last.
std::string Variable(std::string_view pattern, std::string_view name) {
  const size_t head = pattern.find_first_of("*?[");
  const size_t tail = pattern.size() - pattern.find_last_of("*?]") - 1;
  if (head + tail > name.size()) return std::string(name);
  return std::string(name.substr(head, name.size() - head - tail));
}

bool HasPciFunction(const HostRoot& host, std::string_view wanted) {
  constexpr std::string_view kFolder = "/sys/bus/pci/devices";
  const auto functions = host.List(kFolder);
  if (!functions.ok()) return false;
  const auto is = [&](const std::string& function, const char* what, std::string_view id) {
    const auto text = host.ReadFile(fmt::format("{}/{}/{}", kFolder, function, what), 64);
    return text.ok() && text->starts_with(fmt::format("0x{}", id));
  };
  return std::any_of(functions->begin(), functions->end(), [&](const std::string& function) {
    return is(function, "vendor", wanted.substr(0, 4)) && is(function, "device", wanted.substr(5));
  });
}

Status CheckOne(const HostRoot& host, const Description& description, const Presence& presence) {
  const Error absent{Errc::kUnavailable, fmt::format("{}: {}", description.name, presence.absent), ""};
  if (!presence.pci.empty()) return HasPciFunction(host, presence.pci) ? Status() : absent;
  const auto matches = MatchPaths(host, presence.file);
  const auto exists = [&](const auto& match) { return host.Exists(match.first); };
  const auto found = std::find_if(matches.begin(), matches.end(), exists);
  if (found == matches.end()) return absent;
  if (presence.text.empty()) return {};
  const auto wanted = static_cast<size_t>(presence.offset) + presence.text.size();
  std::optional<KernelFileRights> rights;
  if (found->first.starts_with("/sys/") && OnlyRootCanChange(description.file)) rights.emplace();
  const auto text = host.ReadFile(found->first, wanted);
  if (!text.ok()) {
    Error error = text.error().WithContext(description.name + ": cannot tell whether it is there");
    error.hint = error.code == Errc::kPermission ? "root can read that file" : "";
    return error;
  }
  const bool holds = text->size() == wanted && text->ends_with(presence.text);
  return holds ? Status() : absent;
}

}  // namespace

model::SensorInfo InfoOf(const Description& description) {
  model::SensorInfo info{};
  info.name = description.name;
  info.description = description.text;
  info.source = description.registers ? std::string_view(description.registers->path) : description.folder;
  info.cost = description.cost;
  info.default_interval_ns = description.default_interval_ns;
  info.file = description.file;
  return info;
}

Status CheckPresence(const HostRoot& host, const Description& description) {
  for (const Presence& presence : description.presence) ATTUNE_CHECK_OK(CheckOne(host, description, presence));
  return {};
}

std::vector<std::pair<std::string, std::string>> MatchPaths(const HostRoot& host, std::string_view pattern) {
  std::vector<std::pair<std::string, std::string>> paths{{"", ""}};
  for (size_t at = 0; at < pattern.size() && !paths.empty();) {
    const size_t end = std::min(pattern.find('/', at + 1), pattern.size());
    const std::string part(pattern.substr(at + 1, end - at - 1));
    at = end;
    std::vector<std::pair<std::string, std::string>> longer;
    for (const auto& [path, match] : paths) {
      if (!HasStar(part)) {
        longer.emplace_back(path + "/" + part, match);
        continue;
      }
      const auto names = host.List(path.empty() ? "/" : path);
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        if (longer.size() >= kMaxMatches || fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
        longer.emplace_back(path + "/" + name, match + (match.empty() ? "" : ".") + Variable(part, name));
      }
    }
    paths = std::move(longer);
  }
  return paths;
}

model::ElementKey NameElement(const ElementRule& rule, int64_t number, std::string_view match) {
  model::ElementKey key;
  key.kind = rule.kind;
  if (rule.kind == model::ElementKind::kMachine) return key;
  key.name = rule.name;
  ReplaceAll(key.name, "{number}", std::to_string(number));
  ReplaceAll(key.name, "{match}", match);
  // CPUs, nodes and so on are the same elements that other sensors have: by number.
  if (rule.kind != model::ElementKind::kDevice) key.os_id = NumberAtEnd(key.name);
  return key;
}

}  // namespace attune::sensor
