#include "counter/pmu.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/text.h"

namespace attune::counter {
namespace {

constexpr unsigned kLastBit = 63;

/// The text of a file without the newline at its end; empty: there is none.
std::string Word(const HostRoot& host, const std::string& path) {
  const auto text = host.ReadFile(path);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

std::string FolderOf(std::string_view device) { return fmt::format("{}/{}", kPmuFolder, device); }

template <class Number>
std::optional<Number> Parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::vector<Pmu> FindPmus(const HostRoot& host, const CpuSet& online) {
  std::vector<Pmu> pmus;
  size_t cores = 0;
  const auto names = host.List(kPmuFolder);
  for (const std::string& device : names.ok() ? *names : std::vector<std::string>()) {
    const std::string folder = FolderOf(device);
    Pmu pmu{.device = device, .kind = Word(host, folder + "/caps/pmu_name"), .cpus = {}};
    pmu.type = Parse<uint64_t>(Word(host, folder + "/type")).value_or(0);
    // Those of cores say which ones, but for the only one of x86; others say on which CPU they are read.
    pmu.is_core = device == "cpu" || device.starts_with("cpu_") || device.starts_with("armv");
    pmu.cpus = CpuSet::In(host, folder + (pmu.is_core ? "/cpus" : "/cpumask"));
    if (pmu.cpus.empty() && device == "cpu") pmu.cpus = online;
    pmu.cpus = pmu.cpus.Common(online);
    cores += pmu.is_core ? 1 : 0;
    pmus.push_back(std::move(pmu));
  }
  for (Pmu& pmu : pmus) pmu.is_one_of_several = pmu.is_core && cores > 1;
  return pmus;
}

std::vector<Pmu> FindCorePmus(const HostRoot& host, const CpuSet& online) {
  std::vector<Pmu> pmus = FindPmus(host, online);
  std::erase_if(pmus, [](const Pmu& pmu) { return !pmu.is_core; });
  return pmus;
}

std::optional<FormatBits> ParseFormat(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  FormatBits bits;
  if (field == "config1") bits.field = FormatBits::Field::kConfig1;
  if (field == "config2") bits.field = FormatBits::Field::kConfig2;
  if (colon == std::string_view::npos || (bits.field == FormatBits::Field::kConfig && field != "config"))
    return std::nullopt;
  for (const std::string_view range : Split(text.substr(colon + 1), ",")) {
    const size_t dash = range.find('-');
    const auto first = Parse<unsigned>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : Parse<unsigned>(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last > kLastBit) return std::nullopt;
    bits.ranges.emplace_back(*first, *last);
  }
  return bits;
}

std::map<std::string, FormatBits> FormatsOf(const HostRoot& host, const Pmu& pmu) {
  std::map<std::string, FormatBits> formats;
  const std::string folder = FolderOf(pmu.device) + "/format";
  const auto names = host.List(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (auto bits = ParseFormat(Word(host, folder + "/" + name))) formats[name] = *std::move(bits);
  }
  return formats;
}

std::map<std::string, std::string> NamedEvents(const HostRoot& host, const Pmu& pmu) {
  std::map<std::string, std::string> events;
  const std::string folder = FolderOf(pmu.device) + "/events";
  const auto names = host.List(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    // Beside an event lie its unit and its scale: "energy-pkg.scale".
    if (name.find('.') != std::string::npos && (name.ends_with(".scale") || name.ends_with(".unit") ||
                                                name.ends_with(".per-pkg") || name.ends_with(".snapshot")))
      continue;
    events[name] = Word(host, folder + "/" + name);
  }
  return events;
}

}  // namespace attune::counter
