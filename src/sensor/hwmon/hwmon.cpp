#include "sensor/hwmon/hwmon.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "sensor/catalog.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kChips = "/sys/class/hwmon";
constexpr std::string_view kZones = "/sys/class/thermal";
constexpr size_t kMaxChannels = 512;

struct Kind {
  std::string_view prefix;  ///< of the file: "temp1_input"
  std::string_view suffix;
  std::string_view signal;
};
/// Where a chip has both an average and an input of a power, the later line of this table is not taken.
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

/// A name that is the same at the next start: of the device behind a chip ("coretemp.0"), with the driver's in front
/// where it is not part of it ("k10temp 0000:00:18.3").
std::string ChipName(const HostRoot& host, const std::string& folder) {
  const std::string driver = ReadWord(host, folder + "/name");
  const auto link = host.ReadLink(folder + "/device");
  const std::string device = link.ok() ? link->substr(link->rfind('/') + 1) : folder.substr(folder.rfind('/') + 1);
  return driver.empty() || device.starts_with(driver) ? device : driver + " " + device;
}

}  // namespace

const model::SensorInfo& HwmonSensor::Info() const { return FindSensor("hwmon")->info; }

void HwmonSensor::AddChannel(const HostRoot& host, const std::string& path, std::string_view signal,
                             std::string element, std::vector<model::SignalSpec>& specs) {
  if (channels_.size() == kMaxChannels) return;
  auto file = NumberFile::Open(host, path);
  if (!file.ok()) return;
  model::SignalSpec spec = *MakeSpec(*FindSensor("hwmon"), signal, {.name = std::move(element)});
  const auto same = [&](const model::SignalSpec& other) {
    return other.signal == spec.signal && other.element == spec.element;
  };
  if (std::any_of(specs.begin(), specs.end(), same)) return;
  channels_.push_back(*std::move(file));
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
      AddChannel(host, fmt::format("{}/{}", folder, file), kind.signal, fmt::format("{}/{}", chip, label), specs);
    }
  }
}

void HwmonSensor::AddZone(const HostRoot& host, const std::string& zone, std::vector<model::SignalSpec>& specs) {
  const std::string folder = fmt::format("{}/{}", kZones, zone);
  const std::string type = ReadWord(host, folder + "/type");
  AddChannel(host, folder + "/temp", "temperature", type.empty() ? zone : fmt::format("{}/{}", zone, type), specs);
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
  if (!specs.empty()) return specs;
  return Error{Errc::kUnavailable, fmt::format("{} and {}: no chip reports anything", kChips, kZones),
               "virtual machines mostly have none; on a real one, load the driver of its chips (sensors-detect)"};
}

bool HwmonSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (size_t i = 0; i < channels_.size(); ++i) {
    out[i] = channels_[i].Read();
    any = any || out[i] != model::kAbsent;
  }
  return any;
}

}  // namespace attune::sensor
