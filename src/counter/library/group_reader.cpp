#include "counter/library/group_reader.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "counter/slots.h"

namespace attune::counter {
namespace {

constexpr std::string_view kKernel = "kernel";

/// Unit that counts an event: the kernel, the cores, or one by its name.
std::string UnitOf(const Event& part) {
  if (part.type == PERF_TYPE_SOFTWARE || part.type == PERF_TYPE_TRACEPOINT) return std::string(kKernel);
  return part.device.empty() ? "cores" : part.device;
}

/// Bits of config1 by which an event may be read without a call, in the order in which they are tried. Armv8's PMUs
/// want them (rdpmc; long: 64 bits); some have 64 bits for cycles alone.
std::span<const uint64_t> UserAccess([[maybe_unused]] const Event& part) {
#if defined(__aarch64__)
  static constexpr uint64_t kLong = 1, kRdpmc = 2;
  static constexpr uint64_t kWays[] = {kRdpmc | kLong, kRdpmc, 0};
  if (!IsSoftware(part)) return kWays;
#endif
  static constexpr uint64_t kNone[] = {0};
  return kNone;
}

/// Totals of the calling thread, without CPU time: that is up to date at the clock's ticks only.
AccountedUse UsageOfThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {
      .minor_faults = usage.ru_minflt, .major_faults = usage.ru_majflt, .switches = usage.ru_nvcsw + usage.ru_nivcsw};
}

bool IsCpuTime(const Event& part) { return IsSoftware(part) && part.config == PERF_COUNT_SW_TASK_CLOCK; }

bool IsInUsage(const NamedEvent& event) { return IsAccounted(event) && !IsCpuTime(event.parts.front()); }

/// By the clock of which perf's times are: nobody adjusts it.
int64_t RawNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Top-down metrics stand behind the event that leads their group, before what would fill it.
std::vector<size_t> ByPlaceInGroup(const std::vector<NamedEvent>& events) {
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&events](size_t event) {
    const std::vector<Event>& parts = events[event].parts;
    if (std::ranges::any_of(parts, IsSlots)) return 0;
    return std::ranges::any_of(parts, NeedsSlots) ? 1 : 2;
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

}  // namespace

bool GroupReader::TakeFromUsage(const std::vector<NamedEvent>& events, std::span<const Place> places) {
  if (places.size() != 1 || places.front().pid != 0 || places.front().cpu >= 0) return false;
  bool is_any = false;
  for (const NamedEvent& event : events) {
    const bool is_of_kernel = std::ranges::any_of(event.parts, IsSoftware);
    if (is_of_kernel && !IsAccountedOfThreads(event)) return false;
    is_any |= is_of_kernel;
  }
  if (!is_any) return false;
  of_usage_.resize(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    if (!IsInUsage(events[i])) continue;
    of_usage_[i] = events[i];
    is_counted_[i] = true;
  }
  usage_before_ = UsageOfThread();
  return true;
}

Status GroupReader::Open(const HostRoot& host, const PerfOpen& open, const std::vector<NamedEvent>& events,
                         std::span<const Place> places) {
  is_counted_.resize(events.size());
  const bool has_usage = TakeFromUsage(events, places);
  for (const Place& place : places) {
    const size_t first_group = groups_.size();
    for (const size_t event : ByPlaceInGroup(events)) {
      if (has_usage && is_counted_[event]) continue;
      for (const Event& part : events[event].parts)
        ATTUNE_CHECK_OK(OpenOne(host, open, event, events[event], part, place, first_group));
    }
  }
  std::erase_if(groups_, [](const Group& group) { return group.counters.empty(); });
  size_t most = 0;
  for (const Group& group : groups_) most = std::max(most, group.counters.size());
  constexpr size_t kHeader = 3;  // number, and two times
  buffer_.resize(kHeader + most);
  // An event that joins a counting group would begin at the next switch only (seen with Linux 6.18).
  for (const Group& group : groups_)
    ::ioctl(group.counters.front().fd.get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  PrepareDirect();
  if (!groups_.empty() || has_usage) return {};
  return Error{Errc::kUnavailable, fmt::format("{}: {}", notes_.front().event, notes_.front().why), ""};
}

void GroupReader::LeaveToParent() {
  readable_ = {nullptr, nullptr};
  direct_.clear();
  for (Group& group : groups_) {
    for (Counter& counter : group.counters) counter.page.Forget();
  }
}

GroupReader::Group& GroupReader::GroupOf(const std::string& unit, size_t first_group) {
  for (size_t i = groups_.size(); i-- > first_group;) {
    if (groups_[i].unit == unit) return groups_[i];
  }
  return groups_.emplace_back(Group{.unit = unit, .counters = {}});
}

void GroupReader::Note(const std::string& event, std::string_view why) {
  if (std::ranges::find(notes_, event, &EventNote::event) == notes_.end()) notes_.push_back({event, std::string(why)});
}

Status GroupReader::OpenOne(const HostRoot& host, const PerfOpen& open, size_t event, const NamedEvent& named,
                            const Event& part, const Place& place, size_t first_group) {
  if (place.cpu >= 0 && !part.cpus.empty() && !part.cpus.Contains(static_cast<CpuId>(place.cpu))) return {};
  perf_event_attr attributes = part.Attributes();
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const uint64_t asked = attributes.config1;
  const auto try_open = [&](int group) {
    attributes.disabled = group < 0;
    int fd = -EINVAL;
    for (const uint64_t access : UserAccess(part)) {
      attributes.config1 = asked | access;
      fd = open(attributes, {.pid = place.pid, .cpu = place.cpu, .group = group});
      if (fd != -EOPNOTSUPP && fd != -EINVAL) break;
    }
    if ((fd == -EACCES || fd == -EPERM) && place.pid >= 0 && !attributes.exclude_kernel) {
      attributes.exclude_kernel = attributes.exclude_hv = 1;
      fd = open(attributes, {.pid = place.pid, .cpu = place.cpu, .group = group});
    }
    return fd;
  };
  const std::string unit = UnitOf(part);
  Group* group = &GroupOf(unit, first_group);
  int fd = try_open(group->counters.empty() ? -1 : group->counters.front().fd.get());
  if (fd == -EINVAL && !group->counters.empty()) {
    // The unit's counters do not hold more than the group has.
    group = &groups_.emplace_back(Group{.unit = unit, .counters = {}});
    fd = try_open(-1);
  }
  if (fd >= 0 && attributes.exclude_kernel && part.in_kernel && HappensInKernel(part)) {
    UniqueFd(fd).reset();
    Note(named.name, kNotInKernel);
    return {};
  }
  if (fd < 0) {
    const Error error = PerfError(host, named.name, -fd);
    if (fd == -EMFILE || fd == -ENFILE || (error.code == Errc::kPermission && place.pid < 0)) return error;
    Note(named.name, NeedsSlots(part) ? kWithoutSlots : error.hint.empty() ? error.message : error.hint);
    return {};
  }
  const bool is_of_kind = place.cpu < 0 && !part.cpus.empty();
  group->counters.push_back({.event = event,
                             .fd = UniqueFd(fd),
                             .page = EventPage(fd),
                             .count = {},
                             .is_of_kind = is_of_kind,
                             .is_cpu_time = IsCpuTime(part),
                             .of_kind = {}});
  if (is_of_kind && std::ranges::find(events_of_kinds_, event) == events_of_kinds_.end())
    events_of_kinds_.push_back(event);
  // The register of the metrics holds all of them at once.
  group->can_read_pages &= place.cpu < 0 && !NeedsSlots(part);
  is_counted_[event] = true;
  return {};
}

void GroupReader::Counter::Take(const ScaledCount::Reading& reading) {
  if (is_of_kind) {
    of_kind = reading;
  } else {
    static_cast<void>(count.Add(reading));
  }
}

/// The event's readings on all kinds of cores.
void GroupReader::AddKinds(size_t event) {
  const auto for_each = [&](auto&& what) {
    for (Group& group : groups_) {
      for (Counter& counter : group.counters) {
        if (counter.event == event) what(counter);
      }
    }
  };
  TimeOfKinds time;
  for_each([&](const Counter& counter) { time.Add(counter.of_kind); });
  const double whole = time.Whole();
  if (whole == 0) return;  // the time is made up for by the next reading
  for_each([&](Counter& counter) { static_cast<void>(counter.count.AddOfKind(counter.of_kind, whole)); });
}

bool GroupReader::ReadPages(Group& group) {
  if (!group.can_read_pages) return false;
  for (Counter& counter : group.counters) {
    ScaledCount::Reading reading;
    if (!counter.page.Read(reading)) {
      // A counter that the kernel did not let be read so once is read by a call from then on; a counter that is not on
      // the CPU just now may be later.
      return false;
    }
    counter.Take(reading);
  }
  return true;
}

bool GroupReader::ReadGroup(Group& group) {
  constexpr size_t kEnabled = 1, kRunning = 2, kFirst = 3;
  const size_t bytes = (kFirst + group.counters.size()) * sizeof(uint64_t);
  if (::read(group.counters.front().fd.get(), buffer_.data(), bytes) != static_cast<ssize_t>(bytes)) return false;
  for (size_t i = 0; i < group.counters.size(); ++i) {
    group.counters[i].Take(
        {.value = buffer_[kFirst + i], .enabled_ns = buffer_[kEnabled], .running_ns = buffer_[kRunning]});
  }
  return true;
}

/// Direct reads are for threads, where each event has one counter, on CPUs of one kind.
void GroupReader::PrepareDirect() {
  std::vector<DirectCounter> direct(is_counted_.size());
  size_t counters = 0;
  for (const Group& group : groups_) {
    for (const Counter& counter : group.counters) {
      direct[counter.event] = DirectCounter(counter.page);
      counters += group.can_read_pages && !counter.is_of_kind ? 1 : 0;
    }
  }
  const bool is_one_each =
      counters == direct.size() && std::ranges::all_of(direct, [](const auto& any) { return bool(any); });
  if (is_one_each) direct_ = std::move(direct);
}

bool GroupReader::ReadsInUserSpace() const {
  const auto is_direct = [](DirectCounter counter) { return counter.Renew(); };
  return in_user_space_ || (!direct_.empty() && std::ranges::all_of(direct_, is_direct));
}

bool GroupReader::RenewDirect() {
  readable_ = {nullptr, nullptr};
  if (!std::ranges::all_of(direct_, [](DirectCounter& counter) { return counter.Renew(); })) return false;
  readable_ = {direct_.data(), direct_.data() + direct_.size()};
  return !direct_.empty();
}

bool GroupReader::GoOn(Group& group, int64_t now_ns, int64_t switches) {
  constexpr int64_t kMost = 1'000'000;  // ns, within which clocks cannot drift apart by more than a read takes
  if (group.unit != kKernel || switches != group.switches || now_ns - group.read_ns >= kMost) return false;
  group.on_cpu_ns = std::max<int64_t>(0, now_ns - group.read_ns);
  return true;
}

void GroupReader::AddUsage(const AccountedUse& now, uint64_t* totals) const {
  const AccountedUse grown{.minor_faults = now.minor_faults - usage_before_.minor_faults,
                           .major_faults = now.major_faults - usage_before_.major_faults,
                           .switches = now.switches - usage_before_.switches};
  for (size_t event = 0; event < of_usage_.size(); ++event) {
    if (!of_usage_[event].parts.empty()) totals[event] = static_cast<uint64_t>(AccountedCount(of_usage_[event], grown));
  }
}

bool GroupReader::Read(uint64_t* totals) {
  return ReadDirectly(totals) || (RenewDirect() && ReadDirectly(totals)) || ReadFully(totals);
}

bool GroupReader::ReadDirectly(uint64_t* totals) const {
  for (const DirectCounter& counter : direct()) {
    uint64_t value = 0;
    if (!counter.Read(value)) return false;
    *totals++ = counter.Total(value);
  }
  return !direct().empty();
}

bool GroupReader::ReadFully(uint64_t* totals) {
  readable_ = {nullptr, nullptr};
  const bool has_usage = !of_usage_.empty();
  // The time comes first: where no switch is seen after it, there was none up to it.
  const int64_t now_ns = has_usage ? RawNs() : 0;
  const AccountedUse usage = has_usage ? UsageOfThread() : AccountedUse();
  in_user_space_ = !has_usage;
  bool is_all = true;
  for (Group& group : groups_) {
    if (ReadPages(group) || (has_usage && GoOn(group, now_ns, usage.switches))) continue;
    in_user_space_ = false;
    is_all &= ReadGroup(group);
    if (!has_usage) continue;
    // A switch after the usage was read is seen next time, and perf's counts are read again; so they are where an
    // interrupt came between.
    constexpr int64_t kUndisturbed = 20'000;  // ns
    const int64_t end_ns = RawNs();
    group.read_ns = end_ns - now_ns < kUndisturbed ? end_ns : 0;
    group.switches = usage.switches;
    group.on_cpu_ns = 0;
  }
  for (const size_t event : events_of_kinds_) AddKinds(event);
  std::fill_n(totals, is_counted_.size(), uint64_t{0});
  for (const Group& group : groups_) {
    for (const Counter& counter : group.counters) {
      totals[counter.event] += static_cast<uint64_t>(counter.count.total());
      if (counter.is_cpu_time) totals[counter.event] += static_cast<uint64_t>(group.on_cpu_ns);
      if (!direct_.empty()) direct_[counter.event].SetReading(counter.count);
    }
  }
  if (has_usage) AddUsage(usage, totals);
  return is_all;
}

}  // namespace attune::counter
