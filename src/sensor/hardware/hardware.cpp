#include "sensor/hardware/hardware.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/info_keys.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {
namespace {

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

std::vector<const CounterEvent*> HardwareSensor::EventsOf(const HardwareCounter& counter, const counter::Pmu& pmu,
                                                          const std::string& vendor) {
  std::vector<const CounterEvent*> events;
  for (const CounterEvent& event : counter.events) {
    const bool fits = event.cores.empty() || std::ranges::any_of(event.cores, [&](std::string_view core) {
                        return Fits(core, pmu.device) || Fits(core, pmu.kind) || core == vendor;
                      });
    if (fits) events.push_back(&event);
  }
  return events;
}

Result<std::shared_ptr<HardwareSensor::Counter>> HardwareSensor::Open(const HostRoot& host,
                                                                      const counter::PerfOpen& open,
                                                                      const counter::Pmu& pmu, CpuId cpu,
                                                                      std::span<const CounterEvent* const> events,
                                                                      std::string& why) {
  for (const CounterEvent* event : events) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    // With cores of several kinds the kernel must know whose counters are meant.
    if (pmu.is_one_of_several && event->type == PERF_TYPE_RAW) attributes.type = static_cast<uint32_t>(pmu.type);
    if (pmu.is_one_of_several && event->type != PERF_TYPE_RAW) attributes.config |= pmu.type << 32;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int fd = open(attributes, {.cpu = cpu});
    if (fd >= 0) {
      auto counter = std::make_shared<Counter>();
      counter->fd.reset(fd);
      counter->event = event;
      return counter;
    }
    const Error error = counter::PerfError(host, fmt::format("{} of cpu{}", event->name, cpu), -fd);
    if (error.code == Errc::kPermission || -fd == EMFILE || -fd == ENFILE) return error;
    why = error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
  }
  if (events.empty())
    why = fmt::format("no such event is known of {}", pmu.kind.empty() ? "these cores (" + pmu.device + ")" : pmu.kind);
  return std::shared_ptr<Counter>();
}

Result<std::vector<model::SignalSpec>> HardwareSensor::Prepare(const HostRoot& host) {
  if (!open_ && !host.IsThisMachine()) {
    return Error{Errc::kUnavailable, "perf_event_open: counts on the machine where attune runs, not on a captured one",
                 ""};
  }
  const counter::PerfOpen open = open_ ? open_ : counter::KernelPerfOpen();
  CpuSet online = CpuSet::In(host, "/sys/devices/system/cpu/online");
  if (online.empty()) online = CpuSet::Allowed();
  const std::vector<counter::Pmu> pmus = counter::FindCorePmus(host, online);
  if (pmus.empty()) {
    return Error{
        Errc::kUnavailable,
        "this machine shows no counters of its cores (there is no PMU in " + std::string(counter::kPmuFolder) + ")",
        "a virtual machine has them where its host hands them on (a virtual PMU)"};
  }
  const std::string vendor = VendorOf(host);
  const MutexLock lock(kept_->mutex);
  std::erase_if(kept_->counters, [&](const auto& entry) { return !online.Contains(entry.first.first); });
  counters_.clear();
  notes_.clear();
  std::vector<model::SignalSpec> specs;
  std::string last_why;
  for (const counter::Pmu& pmu : pmus) {
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

Result<const CounterEvent*> HardwareSensor::Count(const HostRoot& host, const counter::PerfOpen& open,
                                                  const counter::Pmu& pmu, size_t place,
                                                  std::vector<const CounterEvent*> events, std::string& why,
                                                  std::vector<model::SignalSpec>& specs) {
  const HardwareCounter& counter = HardwareCounters()[place];
  const CounterEvent* taken = nullptr;
  for (const CpuId cpu : pmu.cpus) {
    std::shared_ptr<Counter>& kept = kept_->counters[{cpu, place}];
    if (kept == nullptr) {
      ATTUNE_TRY(kept, Open(host, open, pmu, cpu, events, why));
    }
    if (kept == nullptr) {
      kept_->counters.erase({cpu, place});
      // If the first CPU lacks the counter, the others of its kind lack it, too.
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
    counter::ScaledCount::Reading reading;
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
