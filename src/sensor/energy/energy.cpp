#include "sensor/energy/energy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/cpu_set.h"
#include "base/privilege.h"
#include "sensor/catalog.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kPowercap = "/sys/class/powercap";
// AMD's counters come under this name too. What lies under "intel-rapl-mmio" is the same counters again.
constexpr std::string_view kControl = "intel-rapl:";
constexpr std::string_view kPmu = "/sys/bus/event_source/devices/power";

struct PerfEnergyEvent {
  std::string_view event;
  std::string_view signal;
};
constexpr std::array kPerfEvents{PerfEnergyEvent{"energy-pkg", "package"}, PerfEnergyEvent{"energy-cores", "core"},
                                 PerfEnergyEvent{"energy-gpu", "uncore"}, PerfEnergyEvent{"energy-ram", "dram"},
                                 PerfEnergyEvent{"energy-psys", "psys"}};

/// "package-0-die-1" as {package, 0, "package0-die1"}; kAbsent as number: no package ("psys").
model::ElementKey PackageOf(std::string_view zone) {
  constexpr std::string_view kPackage = "package-";
  model::ElementKey element{model::ElementKind::kPackage, model::kAbsent, ""};
  if (!zone.starts_with(kPackage)) return element;
  zone.remove_prefix(kPackage.size());
  const auto [rest, error] = std::from_chars(zone.data(), zone.data() + zone.size(), element.os_id);
  if (error != std::errc()) return element;
  element.name = fmt::format("package{}", element.os_id);
  const std::string_view die(rest, static_cast<size_t>(zone.data() + zone.size() - rest));
  if (die.starts_with("-die-")) element.name += fmt::format("-die{}", die.substr(5));
  return element;
}

/// The most that a zone may take for long, in uW; kAbsent: not known.
int64_t PowerLimitUw(const HostRoot& host, const std::string& folder) {
  for (const char* file : {"constraint_0_max_power_uw", "constraint_0_power_limit_uw"}) {
    const int64_t limit = ReadNumber(host, fmt::format("{}/{}", folder, file));
    if (limit > 0) return limit;
  }
  return model::kAbsent;
}

model::SignalSpec EnergySpec(std::string_view signal, model::ElementKey element) {
  auto spec = MakeSpec(*FindSensor("energy"), signal, std::move(element));
  if (spec->element.kind == model::ElementKind::kMachine) spec->element = {};  // the platform is not a package's
  return *std::move(spec);
}

/// The number behind "event=0x" of a PMU's event; nothing: another format.
std::optional<uint64_t> EventConfig(std::string_view text) {
  constexpr std::string_view kEvent = "event=0x";
  uint64_t config = 0;
  if (!text.starts_with(kEvent)) return std::nullopt;
  text.remove_prefix(kEvent.size());
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), config, 16);
  return error == std::errc() && rest == text.data() + text.size() ? std::optional(config) : std::nullopt;
}

/// Joules a count: "2.3283064365386962890625e-10"; 0: no number.
double EventScale(const std::string& text) {
  double scale = 0;
  std::from_chars(text.data(), text.data() + text.size(), scale);
  return std::isfinite(scale) && scale > 0 ? scale : 0;
}

}  // namespace

int64_t WrappingCounter::Advance(int64_t value) {
  if (value < 0) return model::kAbsent;  // kAbsent too
  if (last_ == model::kAbsent) {
    sum_ = value;
  } else if (value >= last_) {
    sum_ += value - last_;
  } else {
    sum_ += range_ > last_ ? range_ - last_ + value : value;
  }
  last_ = value;
  return sum_;
}

Status EnergySensor::PreparePowercap(const HostRoot& host, std::vector<model::SignalSpec>& specs) {
  Status status = Error{Errc::kUnavailable, fmt::format("{}: no energy counters", kPowercap),
                        "virtual machines have none; on hardware: modprobe intel_rapl_msr"};
  for (const std::string& zone : host.List(kPowercap).value_or({})) {
    if (!zone.starts_with(kControl)) continue;
    const std::string folder = fmt::format("{}/{}", kPowercap, zone);
    const std::string name = ReadWord(host, folder + "/name");
    // "intel-rapl:0:2" is a part of "intel-rapl:0".
    const size_t parent_end = zone.find(':', kControl.size());
    const model::ElementKey package =
        PackageOf(parent_end == std::string::npos
                      ? name
                      : ReadWord(host, fmt::format("{}/{}/name", kPowercap, zone.substr(0, parent_end))));
    const std::string_view signal = name.starts_with("package-") ? "package" : std::string_view(name);
    if (FindSignal(*FindSensor("energy"), signal) == nullptr) continue;
    auto file = [&] {
      const KernelFileRights rights;
      return NumberFile::Open(host, folder + "/energy_uj");
    }();
    if (!file.ok()) {
      Error error = file.error();
      if (error.code == Errc::kPermission)
        error.hint = "only root may read it; for all users: sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj";
      status = error;
      continue;
    }
    const int64_t largest = ReadNumber(host, folder + "/max_energy_range_uj");
    specs.push_back(EnergySpec(signal, package));
    specs.back().max_per_second = PowerLimitUw(host, folder);
    domains_.push_back({.energy_uj = *std::move(file), .counter = WrappingCounter(largest > 0 ? largest + 1 : 0)});
  }
  return specs.empty() ? status : Status();
}

Status EnergySensor::PreparePerf(const HostRoot& host, std::vector<model::SignalSpec>& specs) {
  const int64_t type = ReadNumber(host, fmt::format("{}/type", kPmu));
  if (type < 0 || (!open_ && !host.IsThisMachine()))
    return Error{Errc::kUnavailable, fmt::format("{}: no such counters", kPmu), ""};
  const counter::PerfOpen open = open_ ? open_ : counter::KernelPerfOpen();
  ATTUNE_TRY(const CpuSet cpus, CpuSet::Parse(ReadWord(host, fmt::format("{}/cpumask", kPmu))));
  for (const PerfEnergyEvent& known : kPerfEvents) {
    const std::string file = fmt::format("{}/events/{}", kPmu, known.event);
    const auto config = EventConfig(ReadWord(host, file));
    const double scale = EventScale(ReadWord(host, file + ".scale"));
    if (!config || scale == 0) continue;
    for (const CpuId cpu : cpus) {
      perf_event_attr attributes{};
      attributes.type = static_cast<uint32_t>(type);
      attributes.size = sizeof attributes;
      attributes.config = *config;
      UniqueFd event(open(attributes, {.cpu = cpu}));
      if (event.get() < 0)
        return counter::PerfError(host, fmt::format("{} of cpu{}", known.event, cpu), -event.release());
      const int64_t id =
          ReadNumber(host, fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpu));
      const model::ElementKey package{model::ElementKind::kPackage, id, fmt::format("package{}", id < 0 ? cpu : id)};
      specs.push_back(EnergySpec(known.signal, package));
      domains_.push_back({.event = std::move(event), .uj_per_count = scale * 1e6});
    }
  }
  if (specs.empty()) return Error{Errc::kUnavailable, fmt::format("{}: no energy events", kPmu), ""};
  return {};
}

Result<std::vector<model::SignalSpec>> EnergySensor::Prepare(const HostRoot& host) {
  domains_.clear();
  std::vector<model::SignalSpec> specs;
  const Status powercap = PreparePowercap(host, specs);
  if (powercap.ok()) return specs;
  const Status perf = PreparePerf(host, specs);
  if (perf.ok()) return specs;
  // The way that is there but not permitted says more than the one that is not there.
  return powercap.error().code != Errc::kPermission && perf.error().code == Errc::kPermission ? perf.error()
                                                                                              : powercap.error();
}

int64_t EnergySensor::Domain::ReadUj() const {
  if (!event) return energy_uj.Read();
  int64_t count = 0;
  if (::read(event.get(), &count, sizeof count) != static_cast<ssize_t>(sizeof count)) return model::kAbsent;
  return std::llround(static_cast<double>(count) * uj_per_count);
}

bool EnergySensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (size_t i = 0; i < domains_.size(); ++i) {
    out[i] = domains_[i].counter.Advance(domains_[i].ReadUj());
    any = any || out[i] != model::kAbsent;
  }
  return any;
}

}  // namespace attune::sensor
