#include "sensor/hardware/hardware.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/info_keys.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {
namespace {

constexpr const char* kDevices = "/sys/bus/event_source/devices";

bool Fits(std::string_view pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == name;
}

/// "amd" or "intel"; empty: another, or not said.
std::string VendorOf(const HostRoot& host) {
  const auto text = host.ReadFile("/proc/cpuinfo");
  if (!text.ok()) return "";
  if (text->find("AuthenticAMD") != std::string::npos) return "amd";
  return text->find("GenuineIntel") != std::string::npos ? "intel" : "";
}

}  // namespace

bool ScaledCount::Add(const Reading& now) {
  const auto since = [](uint64_t after, uint64_t before) { return after > before ? after - before : 0; };
  const uint64_t enabled = since(now.enabled_ns, last_.enabled_ns);
  const uint64_t running = since(now.running_ns, last_.running_ns);
  if (running == 0) {
    share_permille_ = 0;
    return false;
  }
  // The kernel may round the two differently: never more than was to be counted.
  const auto scaled =
      static_cast<unsigned __int128>(since(now.value, last_.value)) * std::max(enabled, running) / running;
  total_ += static_cast<int64_t>(std::min<unsigned __int128>(scaled, static_cast<uint64_t>(INT64_MAX - total_)));
  share_permille_ = enabled == 0 ? 1000 : static_cast<int64_t>(std::min<uint64_t>(1000, running * 1000 / enabled));
  last_ = now;
  return true;
}

std::vector<HardwareSensor::Pmu> HardwareSensor::FindPmus(const HostRoot& host, const CpuSet& online) {
  std::vector<Pmu> pmus;
  const auto names = host.List(kDevices);
  for (const std::string& device : names.ok() ? *names : std::vector<std::string>()) {
    const std::string folder = fmt::format("{}/{}", kDevices, device);
    // Those of cores say which ones, but for the only one of x86.
    const bool is_core = device == "cpu" || device.starts_with("cpu_") || device.starts_with("armv");
    if (!is_core) continue;
    CpuSet cpus = CpuSet::In(host, folder + "/cpus");
    if (cpus.empty() && device == "cpu") cpus = online;
    const std::string kind = ReadWord(host, folder + "/caps/pmu_name");
    const int64_t type = ReadNumber(host, folder + "/type");
    pmus.push_back({device, kind, type > 0 ? static_cast<uint64_t>(type) : 0, cpus.Common(online), false});
  }
  for (Pmu& pmu : pmus) pmu.is_one_of_several = pmus.size() > 1;
  return pmus;
}

std::vector<const CounterEvent*> HardwareSensor::EventsOf(const HardwareCounter& counter, const Pmu& pmu,
                                                          const std::string& vendor) {
  std::vector<const CounterEvent*> events;
  for (const CounterEvent& event : counter.events) {
    const bool fits = event.cores.empty() || std::ranges::any_of(event.cores, [&](std::string_view core) {
                        return Fits(core, pmu.device) || Fits(core, pmu.name) || core == vendor;
                      });
    if (fits) events.push_back(&event);
  }
  return events;
}

Result<std::shared_ptr<HardwareSensor::Counter>> HardwareSensor::Open(const HostRoot& host, const PerfOpen& open,
                                                                      const Pmu& pmu, CpuId cpu,
                                                                      std::span<const CounterEvent* const> events,
                                                                      std::string& why) {
  for (const CounterEvent* event : events) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    // Where there are cores of several kinds the kernel wants to know which one's counters are meant.
    if (pmu.is_one_of_several && event->type == PERF_TYPE_RAW) attributes.type = static_cast<uint32_t>(pmu.type);
    if (pmu.is_one_of_several && event->type != PERF_TYPE_RAW) attributes.config |= pmu.type << 32;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int fd = open(attributes, -1, cpu, -1);
    if (fd >= 0) {
      auto counter = std::make_shared<Counter>();
      counter->fd.reset(fd);
      counter->event = event;
      return counter;
    }
    const Error error = PerfError(host, fmt::format("{} of cpu{}", event->name, cpu), -fd);
    if (error.code == Errc::kPermission || -fd == EMFILE || -fd == ENFILE) return error;
    why = error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
  }
  if (events.empty())
    why = fmt::format("no such event is known of {}", pmu.name.empty() ? "these cores (" + pmu.device + ")" : pmu.name);
  return std::shared_ptr<Counter>();
}

Result<std::vector<model::SignalSpec>> HardwareSensor::Prepare(const HostRoot& host) {
  if (!open_ && !host.IsThisMachine()) {
    return Error{Errc::kUnavailable, "perf_event_open: counts on the machine where attune runs, not on a captured one",
                 ""};
  }
  const PerfOpen open = open_ ? open_ : KernelPerfOpen();
  CpuSet online = CpuSet::In(host, "/sys/devices/system/cpu/online");
  if (online.empty()) online = CpuSet::Allowed();
  const std::vector<Pmu> pmus = FindPmus(host, online);
  if (pmus.empty()) {
    return Error{Errc::kUnavailable,
                 "this machine shows no counters of its cores (there is no PMU in " + std::string(kDevices) + ")",
                 "a virtual machine has them where its host hands them on (a virtual PMU)"};
  }
  const std::string vendor = VendorOf(host);
  const MutexLock lock(kept_->mutex);
  std::erase_if(kept_->counters, [&](const auto& entry) { return !online.Contains(entry.first.first); });
  counters_.clear();
  notes_.clear();
  std::vector<model::SignalSpec> specs;
  std::string last_why;
  for (const Pmu& pmu : pmus) {
    for (size_t place = 0; place < HardwareCounters().size(); ++place) {
      const HardwareCounter& counter = HardwareCounters()[place];
      std::string why;
      ATTUNE_TRY(const CounterEvent* const taken,
                 Count(host, open, pmu, place, EventsOf(counter, pmu, vendor), why, specs));
      const std::string of =
          pmu.is_one_of_several ? fmt::format("{} ({})", counter.name, pmu.device) : std::string(counter.name);
      if (taken == nullptr) {
        notes_.emplace_back(fmt::format("{}hardware.{}", model::info::kSkippedPrefix, of), why);
        last_why = why;
      } else {
        notes_.emplace_back(fmt::format("{}hardware.{}", model::info::kCounterPrefix, of),
                            fmt::format("{} (RTM: {}){}{}", taken->name, counter.rtm,
                                        taken->differs.empty() ? "" : "; ", taken->differs));
      }
    }
  }
  if (specs.empty()) return Error{Errc::kUnavailable, "no counter of this machine can be had: " + last_why, ""};
  return specs;
}

Result<const CounterEvent*> HardwareSensor::Count(const HostRoot& host, const PerfOpen& open, const Pmu& pmu,
                                                  size_t place, std::vector<const CounterEvent*> events,
                                                  std::string& why, std::vector<model::SignalSpec>& specs) {
  const HardwareCounter& counter = HardwareCounters()[place];
  const CounterEvent* taken = nullptr;
  for (const CpuId cpu : pmu.cpus) {
    std::shared_ptr<Counter>& kept = kept_->counters[{cpu, place}];
    if (kept == nullptr) {
      ATTUNE_TRY(kept, Open(host, open, pmu, cpu, events, why));
    }
    if (kept == nullptr) {
      kept_->counters.erase({cpu, place});
      // What the first CPU does not have, the others of its kind have not either.
      if (taken == nullptr) break;
      continue;
    }
    // One event on all of them, so that they can be compared.
    taken = kept->event;
    events = {taken};
    counters_.push_back(kept);
    const model::ElementKey element{model::ElementKind::kCpu, cpu, fmt::format("cpu{}", cpu)};
    specs.push_back(Spec(counter.name, element));
    specs.push_back(Spec(fmt::format("{}_counted", counter.name), element));
  }
  return taken;
}

bool HardwareSensor::Sample(std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), model::kAbsent);
  bool any = false;
  for (size_t i = 0; i < counters_.size(); ++i) {
    ScaledCount::Reading reading;
    // A CPU that went offline has nothing to read.
    if (::read(counters_[i]->fd.get(), &reading, sizeof reading) != static_cast<ssize_t>(sizeof reading)) continue;
    any = true;
    const bool counted = counters_[i]->count.Add(reading);
    if (counted) out[2 * i] = counters_[i]->count.total();
    out[2 * i + 1] = counters_[i]->count.share_permille();
  }
  return any;
}

}  // namespace attune::sensor
