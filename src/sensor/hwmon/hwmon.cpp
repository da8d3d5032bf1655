#include "sensor/hwmon/hwmon.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/cpu_set.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kChips = "/sys/class/hwmon";
constexpr std::string_view kZones = "/sys/class/thermal";
constexpr size_t kMaxChannels = 512;
/// Firmware that has no limit in mind says 0, or thousands of degrees.
constexpr int64_t kLowestLimit = 30'000;
constexpr int64_t kHighestLimit = 200'000;
constexpr int kMaxTrips = 16;

struct Kind {
  std::string_view prefix;  ///< start of the file name: "temp1_input"
  std::string_view suffix;
  std::string_view signal;
};
/// If a chip has both an average and an input of a power, the later line of this table is not taken.
constexpr std::array kKinds{Kind{"temp", "_input", "temperature"}, Kind{"fan", "_input", "fan"},
                            Kind{"in", "_input", "voltage"},       Kind{"curr", "_input", "current"},
                            Kind{"energy", "_input", "energy"},    Kind{"power", "_input", "power"},
                            Kind{"power", "_average", "power"}};

/// "temp12" of "temp12_input" where that is a channel of this kind.
std::optional<std::string> ChannelOf(std::string_view file, const Kind& kind) {
  if (!file.starts_with(kind.prefix) || !file.ends_with(kind.suffix)) return std::nullopt;
  const std::string_view number =
      file.substr(kind.prefix.size(), file.size() - kind.prefix.size() - kind.suffix.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (number.empty() || !std::all_of(number.begin(), number.end(), is_digit)) return std::nullopt;
  return std::string(file.substr(0, file.size() - kind.suffix.size()));
}

/// Name that is the same at the next start: the device behind a chip ("coretemp.0"), with the driver's name in
/// front if it is not part of it ("k10temp 0000:00:18.3").
std::string ChipName(const HostRoot& host, const std::string& folder) {
  const std::string driver = ReadWord(host, folder + "/name");
  const auto link = host.ReadLink(folder + "/device");
  const std::string device = link.ok() ? link->substr(link->rfind('/') + 1) : folder.substr(folder.rfind('/') + 1);
  return driver.empty() || device.starts_with(driver) ? device : driver + " " + device;
}

/// Limit of a chip's channel ("…/temp1"), in thousandths; kAbsent: it names none.
int64_t LimitOf(const HostRoot& host, const std::string& channel) {
  const int64_t critical = ReadNumber(host, channel + "_crit");
  return critical != model::kAbsent ? critical : ReadNumber(host, channel + "_max");
}

/// Critical trip point of a thermal zone; kAbsent: none.
int64_t CriticalTrip(const HostRoot& host, const std::string& zone) {
  for (int i = 0; i < kMaxTrips; ++i) {
    const std::string type = ReadWord(host, fmt::format("{}/trip_point_{}_type", zone, i));
    if (type.empty()) break;
    if (type == "critical") return ReadNumber(host, fmt::format("{}/trip_point_{}_temp", zone, i));
  }
  return model::kAbsent;
}

}  // namespace

void HwmonSensor::AddChannel(const HostRoot& host, const std::string& path, std::string_view signal,
                             std::string element, std::vector<model::SignalSpec>& specs) {
  if (channels_.size() == kMaxChannels) return;
  auto file = NumberFile::Open(host, path);
  if (!file.ok()) return;
  model::SignalSpec spec = Spec(signal, {.name = std::move(element)});
  const auto same = [&](const model::SignalSpec& other) {
    return other.signal == spec.signal && other.element == spec.element;
  };
  if (std::any_of(specs.begin(), specs.end(), same)) return;
  channels_.push_back({*std::move(file)});
  specs.push_back(std::move(spec));
}

void HwmonSensor::AddLimit(const std::string& element, int64_t millidegrees, std::vector<model::SignalSpec>& specs) {
  if (millidegrees < kLowestLimit || millidegrees > kHighestLimit) return;
  model::SignalSpec spec = Spec("temperature_limit", {.name = element});
  // Only beside its temperature, and once.
  if (specs.empty() || specs.back().signal != "temperature" || specs.back().element != spec.element) return;
  channels_.push_back({NumberFile(), millidegrees});
  specs.push_back(std::move(spec));
}

void HwmonSensor::AddChip(const HostRoot& host, const std::string& folder, std::vector<model::SignalSpec>& specs) {
  const auto files = host.List(folder);
  if (!files.ok()) return;
  const std::string chip = ChipName(host, folder);
  std::map<std::string, std::string> channel_of;
  for (const Kind& kind : kKinds) {
    for (const std::string& file : *files) {
      const std::optional<std::string> channel = ChannelOf(file, kind);
      if (!channel) continue;
      std::string label = ReadWord(host, fmt::format("{}/{}_label", folder, *channel));
      // Two channels of a chip may carry the same label.
      if (label.empty() || channel_of.try_emplace(label, *channel).first->second != *channel) label = *channel;
      const std::string element = fmt::format("{}/{}", chip, label);
      AddChannel(host, fmt::format("{}/{}", folder, file), kind.signal, element, specs);
      if (kind.signal == "temperature") AddLimit(element, LimitOf(host, fmt::format("{}/{}", folder, *channel)), specs);
    }
  }
}

void HwmonSensor::AddZone(const HostRoot& host, const std::string& zone, std::vector<model::SignalSpec>& specs) {
  const std::string folder = fmt::format("{}/{}", kZones, zone);
  const std::string type = ReadWord(host, folder + "/type");
  const std::string element = type.empty() ? zone : fmt::format("{}/{}", zone, type);
  AddChannel(host, folder + "/temp", "temperature", element, specs);
  AddLimit(element, CriticalTrip(host, folder), specs);
}

void HwmonSensor::AddThrottle(const HostRoot& host, const std::string& path, std::string_view signal,
                              model::ElementKey element, std::vector<model::SignalSpec>& specs) {
  auto file = NumberFile::Open(host, path);
  if (!file.ok()) return;
  channels_.push_back({*std::move(file)});
  specs.push_back(Spec(signal, std::move(element)));
}

void HwmonSensor::AddThrottles(const HostRoot& host, std::vector<model::SignalSpec>& specs) {
  std::set<int64_t> packages;
  for (const CpuId cpu : CpuSet::In(host, "/sys/devices/system/cpu/online")) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
    const auto siblings = CpuSet::Parse(ReadWord(host, folder + "/topology/thread_siblings_list"));
    const bool first_of_core = !siblings.ok() || siblings->empty() || *siblings->begin() == cpu;
    if (first_of_core) {
      AddThrottle(host, folder + "/thermal_throttle/core_throttle_count", "core_throttles",
                  {model::ElementKind::kCpu, cpu, fmt::format("cpu{}", cpu)}, specs);
    }
    const int64_t package = ReadNumber(host, folder + "/topology/physical_package_id");
    if (package < 0 || !packages.insert(package).second) continue;
    AddThrottle(host, folder + "/thermal_throttle/package_throttle_count", "package_throttles",
                {model::ElementKind::kPackage, package, fmt::format("package{}", package)}, specs);
  }
}

Result<std::vector<model::SignalSpec>> HwmonSensor::Prepare(const HostRoot& host) {
  std::vector<model::SignalSpec> specs;
  const auto chips = host.List(kChips);
  if (chips.ok()) {
    for (const std::string& chip : *chips) AddChip(host, fmt::format("{}/{}", kChips, chip), specs);
  }
  const auto zones = host.List(kZones);
  if (zones.ok()) {
    for (const std::string& zone : *zones) {
      if (zone.starts_with("thermal_zone")) AddZone(host, zone, specs);
    }
  }
  AddThrottles(host, specs);
  if (!specs.empty()) return specs;
  return Error{Errc::kUnavailable, fmt::format("{} and {}: no chip reports anything", kChips, kZones),
               "virtual machines mostly have none; on a real one, load the driver of its chips (sensors-detect)"};
}

bool HwmonSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (size_t i = 0; i < channels_.size(); ++i) {
    const Channel& channel = channels_[i];
    out[i] = channel.fixed != model::kAbsent ? channel.fixed : channel.file.Read();
    any = any || (channel.fixed == model::kAbsent && out[i] != model::kAbsent);
  }
  return any;
}

}  // namespace attune::sensor
