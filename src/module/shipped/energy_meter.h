#pragma once
/// Energy of the machine: counters of powercap (RAPL), and sensors of hwmon where there are none.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "module/shipped/readings.h"

namespace attune::shipped {

/// A counter of energy, or a sensor of power whose energy is the integral.
class EnergySource {
 public:
  enum class Kind { kEnergyUj, kPowerUw };

  /// @param counted whether it is a part of the machine's energy that no other source has
  /// @param range of the counter, uJ: the values from 0 to it; 0: not known
  EnergySource(Kind kind, std::string name, std::string path, bool counted, int64_t range)
      : kind_(kind), name_(std::move(name)), path_(std::move(path)), counted_(counted), range_(range) {}

  /// Joules count from here. @param t_ns nothing: the time is not known, and power counts from the next reading
  void Begin(const HostRoot& host, std::optional<int64_t> t_ns) {
    last_.reset();
    if (t_ns || kind_ == Kind::kEnergyUj) Advance(host, t_ns.value_or(0));
    joules_ = 0;
  }

  /// The joules since the reading before; 0 at the first one. Nothing: it cannot be read now; the next reading has all
  /// of a counter since the last one.
  std::optional<double> Advance(const HostRoot& host, int64_t t_ns) {
    const auto value = ReadCount(host, path_);
    if (!value || (kind_ == Kind::kEnergyUj && range_ > 0 && *value > range_)) return std::nullopt;
    double microjoules = 0;
    if (last_) {
      microjoules = kind_ == Kind::kEnergyUj ? static_cast<double>(Difference(*value))
                                             : (static_cast<double>(*value) + static_cast<double>(*last_)) / 2 *
                                                   static_cast<double>(std::max<int64_t>(t_ns - last_t_ns_, 0)) * 1e-9;
    }
    last_ = value;
    last_t_ns_ = t_ns;
    joules_ += microjoules * 1e-6;
    return microjoules * 1e-6;
  }

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  bool counted() const { return counted_; }
  /// Since Begin().
  double joules() const { return joules_; }

 private:
  int64_t Difference(int64_t value) const {
    if (value >= *last_) return value - *last_;
    return range_ >= *last_ ? range_ - *last_ + 1 + value : value;
  }

  Kind kind_;
  std::string name_;
  std::string path_;
  bool counted_;
  int64_t range_;
  std::optional<int64_t> last_;
  int64_t last_t_ns_ = 0;
  double joules_ = 0;
};

namespace internal {

inline constexpr std::string_view kPowercap = "/sys/class/powercap/";
inline constexpr std::string_view kHwmon = "/sys/class/hwmon/";

/// @param control "intel-rapl:" (AMD's counters have this name too)
inline std::vector<EnergySource> PowercapSources(const HostRoot& host, std::string_view control) {
  std::vector<EnergySource> sources;
  for (const std::string& zone : host.List(kPowercap).value_or({})) {
    if (!zone.starts_with(control)) continue;
    const std::string folder = std::string(kPowercap) + zone;
    const std::string name = ReadWord(host, folder + "/name");
    // "intel-rapl:0:2" is a part of "intel-rapl:0"; "psys" has the packages in it.
    const bool package = zone.find(':', control.size()) == std::string::npos && name.starts_with("package");
    sources.emplace_back(EnergySource::Kind::kEnergyUj, zone + " " + name, folder + "/energy_uj", package,
                         ReadCount(host, folder + "/max_energy_range_uj").value_or(0));
  }
  return sources;
}

/// Whether `file` is PREFIX, a number, SUFFIX.
inline bool IsChannel(std::string_view file, std::string_view prefix, std::string_view suffix) {
  if (file.size() <= prefix.size() + suffix.size() || !file.starts_with(prefix) || !file.ends_with(suffix))
    return false;
  file.remove_prefix(prefix.size());
  file.remove_suffix(suffix.size());
  return std::ranges::all_of(file, [](char c) { return c >= '0' && c <= '9'; });
}

/// The channels of a chip: those of energy, or those of power.
inline void AddChip(const HostRoot& host, const std::string& chip, std::vector<EnergySource>& sources) {
  const std::string folder = std::string(kHwmon) + chip;
  const auto files = host.List(folder).value_or({});
  struct Way {
    EnergySource::Kind kind;
    std::string_view prefix, suffix;
  };
  for (const Way& way :
       {Way{EnergySource::Kind::kEnergyUj, "energy", "_input"}, Way{EnergySource::Kind::kPowerUw, "power", "_input"},
        Way{EnergySource::Kind::kPowerUw, "power", "_average"}}) {
    const auto label = [&](const std::string& file) {
      return ReadWord(host, folder + "/" + file.substr(0, file.size() - way.suffix.size()) + "_label");
    };
    // AMD's chip counts each socket, and the cores in it again.
    const bool sockets = std::ranges::any_of(files, [&](const std::string& file) {
      return IsChannel(file, way.prefix, way.suffix) && label(file).starts_with("Esocket");
    });
    bool any = false;
    for (const std::string& file : files) {
      if (!IsChannel(file, way.prefix, way.suffix)) continue;
      const std::string path = folder + "/" + file;
      if (!ReadCount(host, path)) continue;
      const std::string text = label(file);
      sources.emplace_back(way.kind, chip + " " + ReadWord(host, folder + "/name") + " " + file, path,
                           !sockets || text.starts_with("Esocket"), 0);
      any = true;
    }
    if (any) return;
  }
}

inline std::vector<EnergySource> HwmonSources(const HostRoot& host) {
  const auto chips = host.List(kHwmon).value_or({});
  std::vector<EnergySource> sources;
  // ACPI's power meter measures the whole machine: what other chips measure is in it.
  for (const std::string& chip : chips) {
    if (ReadWord(host, std::string(kHwmon) + chip + "/name") == "power_meter") AddChip(host, chip, sources);
  }
  if (!sources.empty()) return sources;
  for (const std::string& chip : chips) AddChip(host, chip, sources);
  return sources;
}

}  // namespace internal

/// The sources that can be read. Error: kUnavailable, kPermission.
inline Result<std::vector<EnergySource>> FindEnergySources(const HostRoot& host) {
  Error error{Errc::kUnavailable,
              "no energy counters: neither /sys/class/powercap/intel-rapl:*/energy_uj nor power*_input or "
              "energy*_input in /sys/class/hwmon",
              "virtual machines have none; on hardware: modprobe intel_rapl_msr"};
  // The zones under "intel-rapl-mmio" are the same counters again.
  for (const std::string_view control : {"intel-rapl:", "intel-rapl-mmio:"}) {
    auto sources = internal::PowercapSources(host, control);
    std::erase_if(sources, [&](const EnergySource& source) {
      if (ReadCount(host, source.path())) return false;
      const auto opened = host.Open(source.path());
      if (!opened.ok() && opened.error().code == Errc::kPermission)
        error = {Errc::kPermission, opened.error().message,
                 "only root may read it; for all users: sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"};
      return true;
    });
    if (std::ranges::any_of(sources, &EnergySource::counted)) return sources;
  }
  auto sources = internal::HwmonSources(host);
  if (!sources.empty()) return sources;
  return error;
}

}  // namespace attune::shipped
