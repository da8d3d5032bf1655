#include "sensor/perf/perf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attune::sensor {
namespace {

struct Event {
  std::string_view signal;
  uint64_t config;
};
constexpr std::array kEvents{Event{"page_faults", PERF_COUNT_SW_PAGE_FAULTS},
                             Event{"minor_faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
                             Event{"major_faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
                             Event{"context_switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
                             Event{"cpu_migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
                             Event{"task_clock", PERF_COUNT_SW_TASK_CLOCK},
                             Event{"alignment_faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
                             Event{"emulation_faults", PERF_COUNT_SW_EMULATION_FAULTS}};

/// Result of read() of a group (PERF_FORMAT_GROUP).
struct GroupValues {
  uint64_t count = 0;
  std::array<uint64_t, kEvents.size()> values{};
};

Result<CpuSet> OnlineCpus(const HostRoot& host) {
  const auto text = host.ReadFile("/sys/devices/system/cpu/online");
  return text.ok() ? CpuSet::Parse(*text) : CpuSet::Allowed();
}

bool ReadGroup(int leader, GroupValues& group) {
  // A CPU that went offline left a leader without its group: fewer values.
  return ::read(leader, &group, sizeof group) == static_cast<ssize_t>(sizeof group) && group.count == kEvents.size();
}

}  // namespace

Result<std::shared_ptr<const PerfSensor::Group>> PerfSensor::OpenGroup(const HostRoot& host,
                                                                       const counter::PerfOpen& open, CpuId cpu) const {
  auto group = std::make_shared<Group>();
  for (const Event& event : kEvents) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof attributes;
    attributes.config = event.config;
    attributes.read_format = PERF_FORMAT_GROUP;
    const int fd = open(attributes, {.cpu = cpu, .group = group->empty() ? -1 : group->front().get()});
    if (fd == -ENODEV) return std::shared_ptr<const Group>();
    if (fd < 0) return counter::PerfError(host, fmt::format("{} of cpu{}", event.signal, cpu), -fd);
    group->emplace_back(fd);
  }
  return std::shared_ptr<const Group>(std::move(group));
}

Result<std::vector<model::SignalSpec>> PerfSensor::Prepare(const HostRoot& host) {
  if (!open_ && !host.IsThisMachine()) {
    return Error{Errc::kUnavailable, "perf_event_open: counts on the machine where attune runs, not on a captured one",
                 ""};
  }
  const counter::PerfOpen open = open_ ? open_ : counter::KernelPerfOpen();
  ATTUNE_TRY(const CpuSet online, OnlineCpus(host));
  const MutexLock lock(counters_->mutex);
  auto& of_cpu = counters_->of_cpu;
  std::erase_if(of_cpu, [&](const auto& entry) { return !online.Contains(entry.first); });
  groups_.clear();
  std::vector<model::SignalSpec> specs;
  for (const CpuId cpu : online) {
    std::shared_ptr<const Group>& group = of_cpu[cpu];
    if (group == nullptr) {
      ATTUNE_TRY(group, OpenGroup(host, open, cpu));
    }
    if (group == nullptr) continue;
    groups_.push_back(group);
    const model::ElementKey element{model::ElementKind::kCpu, cpu, fmt::format("cpu{}", cpu)};
    for (const Event& event : kEvents) specs.push_back(Spec(event.signal, element));
  }
  if (specs.empty()) return Error{Errc::kUnavailable, "perf_event_open: no CPU is online", ""};
  return specs;
}

bool PerfSensor::Sample(std::span<int64_t> out) {
  std::fill(out.begin(), out.end(), model::kAbsent);
  bool any = false;
  for (size_t i = 0; i < groups_.size(); ++i) {
    GroupValues group;
    if (!ReadGroup(groups_[i]->front().get(), group)) continue;
    std::copy(group.values.begin(), group.values.end(), out.begin() + static_cast<long>(i * kEvents.size()));
    any = true;
  }
  return any;
}

}  // namespace attune::sensor
