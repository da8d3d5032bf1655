#include "counter/counter_set.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "counter/slots.h"

namespace attune::counter {
namespace {

/// @return false: a CPU that went offline has nothing to read
bool ReadOne(const UniqueFd& fd, ScaledCount::Reading& reading) {
  return ::read(fd.get(), &reading, sizeof reading) == static_cast<ssize_t>(sizeof reading);
}

}  // namespace

bool HappensInKernel(const Event& event) {
  return IsSoftware(event) &&
         (event.config == PERF_COUNT_SW_CONTEXT_SWITCHES || event.config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

std::vector<EventCount> GrowthOf(const std::vector<EventCount>& now, const std::vector<EventCount>& before) {
  std::vector<EventCount> grown = now;
  for (size_t i = 0; i < before.size() && i < grown.size(); ++i) {
    grown[i].value -= before[i].value;
    grown[i].bound = std::max(0.0, grown[i].bound - before[i].bound);
    for (size_t part = 0; part < grown[i].parts.size() && part < before[i].parts.size(); ++part)
      grown[i].parts[part] -= before[i].parts[part];
  }
  return grown;
}

Result<CounterSet> CounterSet::Open(const HostRoot& host, const PerfOpen& open, std::vector<NamedEvent> events,
                                    const Counted& of) {
  CounterSet set(host, open, std::move(events));
  ATTUNE_CHECK_OK(set.Add(of));
  if (!set.counters_.empty()) return set;
  const EventNote& last = set.notes_.back();
  return Error{Errc::kUnavailable, fmt::format("{}: {}", last.event, last.why), ""};
}

Status CounterSet::Add(const Counted& of) {
  first_of_add_ = counters_.size();
  for (const bool needs_slots : {false, true}) {
    for (size_t event = 0; event < events_.size(); ++event) {
      if (std::ranges::any_of(events_[event].parts, NeedsSlots) != needs_slots) continue;
      for (size_t part = 0; part < events_[event].parts.size(); ++part) ATTUNE_CHECK_OK(AddPart(event, part, of));
    }
  }
  return {};
}

/// @return descriptor of the leader of its group; -1: it needs none, or there is none
int CounterSet::LeaderOf(const Event& event, int cpu) const {
  if (!NeedsSlots(event)) return -1;
  for (size_t i = first_of_add_; i < counters_.size(); ++i) {
    const Event& other = events_[counters_[i].event].parts[counters_[i].part];
    if (counters_[i].cpu == cpu && IsSlots(other) && other.device == event.device) return counters_[i].fd.get();
  }
  return -1;
}

Status CounterSet::AddPart(size_t event, size_t part, const Counted& of) {
  const CpuSet& only = events_[event].parts[part].cpus;
  if (of.cpus.empty()) return OpenOne(event, part, of, -1);
  for (const CpuId cpu : of.cpus) {
    if (only.empty() || only.Contains(cpu)) ATTUNE_CHECK_OK(OpenOne(event, part, of, cpu));
  }
  return {};
}

/// Errors are those that another event would have, too.
Status CounterSet::OpenOne(size_t event, size_t part, const Counted& of, int cpu) {
  const Event& what = events_[event].parts[part];
  perf_event_attr attributes = what.Attributes();
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.inherit = of.with_children;
  attributes.disabled = attributes.enable_on_exec = of.from_exec;
  if (is_user_only_) attributes.exclude_kernel = attributes.exclude_hv = 1;
  const PerfTarget target{.pid = of.pid, .cpu = cpu, .group = LeaderOf(what, cpu), .cgroup = of.cgroup_fd};
  int fd = open_(attributes, target);
  if ((fd == -EACCES || fd == -EPERM) && !attributes.exclude_kernel && of.pid >= 0) {
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    fd = open_(attributes, target);
    if (fd >= 0 && !is_user_only_) {
      is_user_only_ = true;
      notes_.push_back({"", "what the kernel does for it is not counted: kernel.perf_event_paranoid is above 1"});
    }
  }
  if (fd >= 0 && attributes.exclude_kernel && what.in_kernel && HappensInKernel(what)) {
    UniqueFd(fd).reset();
    Note(events_[event].name, std::string(kNotInKernel));
    return {};
  }
  if (fd >= 0) {
    counters_.push_back({.event = event,
                         .part = part,
                         .cpu = cpu,
                         .fd = UniqueFd(fd),
                         .count = {},
                         .is_of_kind = cpu < 0 && !what.cpus.empty()});
    return {};
  }
  if (fd == -ENODEV && cpu >= 0) {
    Note("", fmt::format("cpu{} has gone offline: it is not counted", cpu));
    return {};
  }
  const Error error = PerfError(host_, events_[event].name, -fd);
  if (error.code == Errc::kPermission || fd == -EMFILE || fd == -ENFILE || fd == -ESRCH) return error;
  Note(events_[event].name, NeedsSlots(what) && target.group < 0 ? std::string(kWithoutSlots)
                            : error.hint.empty()                 ? error.message
                                                                 : error.hint);
  return {};
}

void CounterSet::Note(const std::string& event, const std::string& why) {
  const auto is_known = [&](const EventNote& note) {
    return note.event == event && (!event.empty() || note.why == why);
  };
  if (std::ranges::none_of(notes_, is_known)) notes_.push_back({event, why});
}

/// An event of a thread on each kind of cores.
void CounterSet::ReadKinds(std::span<Counter> kinds) {
  std::vector<ScaledCount::Reading> now(kinds.size());
  TimeOfKinds time;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!ReadOne(kinds[i].fd, now[i])) return;
    time.Add(now[i]);
  }
  const double whole = time.Whole();
  if (whole == 0) return;  // the time is made up for by the next reading
  for (size_t i = 0; i < kinds.size(); ++i) static_cast<void>(kinds[i].count.AddOfKind(now[i], whole));
}

void CounterSet::Read() {
  for (size_t first = 0; first < counters_.size();) {
    const Counter& of = counters_[first];
    size_t end = first + 1;
    if (of.is_of_kind) {
      while (end < counters_.size() && counters_[end].event == of.event &&
             counters_[end].part > counters_[end - 1].part)
        ++end;
      ReadKinds({&counters_[first], end - first});
    } else if (ScaledCount::Reading reading; ReadOne(of.fd, reading)) {
      static_cast<void>(counters_[first].count.Add(reading));
    }
    first = end;
  }
}

std::vector<EventCount> CounterSet::Counts() const {
  std::vector<EventCount> counts(events_.size());
  for (size_t i = 0; i < counts.size(); ++i) counts[i].parts.resize(events_[i].parts.size());
  for (const Counter& counter : counters_) {
    EventCount& count = counts[counter.event];
    if (!counter.count.is_known()) continue;
    const double scale = events_[counter.event].scale;
    const double value = static_cast<double>(counter.count.total()) * scale;
    count.share = count.is_known ? std::min(count.share, counter.count.share()) : counter.count.share();
    count.is_known = true;
    count.value += value;
    count.parts[counter.part] += value;
    count.bound = std::hypot(count.bound, counter.count.Bound() * scale);
  }
  return counts;
}

}  // namespace attune::counter
