#include "session/counting/bpf_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/own_files.h"
#include "counter/slots.h"

namespace attune::session {

using counter::EventCount;
using counter::NamedEvent;

namespace {

counter::Moment MomentOf(unsigned kind) {
  using counter::Moment;
  switch (kind) {
    case kRowExiting:
    case kRowFreed: return Moment::kEnded;
    case kRowSampled: return Moment::kSampled;
    case kRowStarted: return Moment::kStarted;
    case kRowExec: return Moment::kExec;
    case kRowMigrated: return Moment::kMigrated;
    case kRowSwitchedIn: return Moment::kSwitchedIn;
    case kRowSwitchedOut: return Moment::kSwitchedOut;
    case kRowSelf: return Moment::kSelf;
    default: return Moment::kLives;
  }
}

}  // namespace

Result<std::unique_ptr<BpfThreads>> BpfThreads::Create(const HostRoot& host, const counter::PerfOpen& open,
                                                       std::vector<NamedEvent> events, const CpuSet& online,
                                                       unsigned tells, uint32_t rows_bytes) {
  std::unique_ptr<BpfThreads> threads(new BpfThreads(host, open, std::move(events)));
  ATTUNE_TRY(const std::vector<kernel::ThreadCountsBpf::OnCpus> counters, threads->OpenAll(online));
  if (counters.size() > kernel::ThreadCountsBpf::kMaxCounters)
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} events are too many to be counted for each thread", counters.size()),
                 fmt::format("at most {}, besides CPU time, switches, migrations and page faults",
                             kernel::ThreadCountsBpf::kMaxCounters)};
  ATTUNE_TRY(threads->counts_, kernel::ThreadCountsBpf::Create(counters, tells, rows_bytes));
  if ((tells & kTellSelf) != 0) ATTUNE_CHECK_OK(threads->SampleSelf());
  return threads;
}

/// In the order of events and parts; leaders of groups are opened first.
Result<std::vector<kernel::ThreadCountsBpf::OnCpus>> BpfThreads::OpenAll(const CpuSet& online) {
  std::vector<std::pair<const NamedEvent*, const counter::Event*>> parts;
  for (const NamedEvent& event : events_) {
    if (counter::IsAccountedOfThreads(event)) continue;
    for (const counter::Event& part : event.parts) parts.emplace_back(&event, &part);
  }
  std::vector<kernel::ThreadCountsBpf::OnCpus> counters(parts.size());
  kernel::ThreadCountsBpf::OnCpus slots;
  for (const bool needs_slots : {false, true}) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& [event, part] = parts[i];
      if (counter::NeedsSlots(*part) != needs_slots) continue;
      ATTUNE_TRY(counters[i], OpenPart(*event, *part, online, needs_slots ? slots : kernel::ThreadCountsBpf::OnCpus()));
      if (counter::IsSlots(*part)) slots = counters[i];
    }
  }
  for (const auto& on_cpus : counters) is_counted_.push_back(!on_cpus.empty());
  return counters;
}

Result<kernel::ThreadCountsBpf::OnCpus> BpfThreads::OpenPart(const NamedEvent& event, const counter::Event& part,
                                                             const CpuSet& online,
                                                             const kernel::ThreadCountsBpf::OnCpus& leaders) {
  perf_event_attr attributes = part.Attributes();
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  kernel::ThreadCountsBpf::OnCpus on_cpus;
  for (const CpuId cpu : online) {
    if (!part.cpus.empty() && !part.cpus.Contains(cpu)) continue;
    const int leader = static_cast<size_t>(cpu) < leaders.size() ? leaders[static_cast<size_t>(cpu)] : -1;
    const int fd = open_(attributes, {.pid = -1, .cpu = static_cast<int>(cpu), .group = leader});
    if (fd == -ENODEV) continue;  // it has gone offline
    if (fd < 0) {
      Error error = counter::PerfError(host_, event.name, -fd);
      if (error.code == Errc::kPermission) return error;
      notes_.push_back({event.name, counter::NeedsSlots(part) && leader < 0 ? std::string(counter::kWithoutSlots)
                                    : error.hint.empty()                    ? error.message
                                                                            : error.hint});
      return kernel::ThreadCountsBpf::OnCpus();
    }
    fds_.emplace_back(fd);
    if (on_cpus.size() <= static_cast<size_t>(cpu)) on_cpus.resize(static_cast<size_t>(cpu) + 1, -1);
    on_cpus[static_cast<size_t>(cpu)] = fd;
  }
  return on_cpus;
}

Status BpfThreads::SampleSelf() {
  const std::string library = FindOwnLibrary(ATTUNE_COUNTERS_LIBRARY_NAME);
  if (!library.empty()) return counts_->SampleAt(library, "attune_counters_sample");
  notes_.push_back({"", fmt::format("samples that threads take of themselves: {} is not installed beside attune",
                                    ATTUNE_COUNTERS_LIBRARY_NAME)});
  return {};
}

Status BpfThreads::Sample(pid_t tid, bool from_exec) {
  for (const Sampling& sampling : samplings_) {
    for (const counter::Event& part : sampling.event.parts) {
      perf_event_attr attributes = part.Attributes();
      attributes.sample_period = sampling.period;
      attributes.inherit = 1;
      attributes.disabled = attributes.enable_on_exec = from_exec ? 1 : 0;
      const int fd = open_(attributes, {.pid = tid, .cpu = -1});
      if (fd < 0) return counter::PerfError(host_, sampling.event.name, -fd);
      fds_.emplace_back(fd);
      const Status sampled = counts_->SampleBy(fd);
      if (!sampled.ok()) return sampled.error().WithContext(sampling.event.name);
    }
  }
  return {};
}

Status BpfThreads::Follow(pid_t pid, bool from_exec) {
  if (!from_exec) {
    ATTUNE_CHECK_OK(counts_->FollowRunning(pid));
    // One that has ended meanwhile is sampled no more.
    for (const pid_t tid : counter::ThreadsOf(host_, pid)) static_cast<void>(Sample(tid, false));
    return {};
  }
  ATTUNE_CHECK_OK(Sample(pid, true));
  return counts_->FollowFromExec(pid);
}

EventCount BpfThreads::Scaled(const NamedEvent& event, const thread_row& row, size_t& next) const {
  EventCount sum;
  if (row.counters == 0) return sum;
  for (size_t part = 0; part < event.parts.size(); ++part, ++next) {
    const thread_count& count = row.counts[next];
    sum.parts.push_back(0);
    if (!is_counted_[next]) continue;
    if (count.running_ns == 0) {
      // A thread that never ran on this kind of core has counted nothing there.
      sum.is_known |= count.enabled_ns == 0;
      continue;
    }
    const double share =
        std::min(1.0, static_cast<double>(count.running_ns) / static_cast<double>(std::max(count.enabled_ns, 1ull)));
    sum.parts.back() = static_cast<double>(count.value) / share * event.scale;
    sum.value += sum.parts.back();
    sum.share = std::min(sum.share, share);
    sum.is_known = true;
  }
  return sum;
}

counter::ThreadCounts BpfThreads::Named(const thread_row& row) const {
  counter::ThreadCounts counts{.pid = row.pid,
                               .tid = row.tid,
                               .last_tid = row.last_tid,
                               .name = std::string(row.name, strnlen(row.name, sizeof row.name)),
                               .moment = MomentOf(row.kind),
                               .cpu = row.cpu,
                               .ran_on = row.ran_on,
                               .start_ns = static_cast<int64_t>(row.start_ns),
                               .end_ns = static_cast<int64_t>(row.end_ns)};
  const counter::AccountedUse use{.cpu_ns = static_cast<int64_t>(row.accounted.cpu_ns),
                                  .minor_faults = static_cast<int64_t>(row.accounted.minor_faults),
                                  .major_faults = static_cast<int64_t>(row.accounted.major_faults),
                                  .switches = static_cast<int64_t>(row.accounted.switches),
                                  .migrations = static_cast<int64_t>(row.accounted.migrations)};
  size_t next = 0;
  for (const NamedEvent& event : events_) {
    counts.counts.push_back(counter::IsAccountedOfThreads(event)
                                ? EventCount{.value = counter::AccountedCount(event, use), .is_known = true}
                                : Scaled(event, row, next));
  }
  return counts;
}

Status BpfThreads::Read(bool with_living, const Visit& visit) {
  return counts_->Read(with_living, [&](const thread_row& row) { visit(Named(row)); });
}

bool BpfThreads::HaveAllEnded() const {
  const thread_totals totals = counts_->totals();
  return totals.started > 0 && totals.freed >= totals.started;
}

Status BpfThreads::End(const Visit& visit) {
  ATTUNE_CHECK_OK(Read(true, visit));
  counts_->TakeExiting([&](const thread_row& row) { visit(Named(row)); });
  return {};
}

std::vector<counter::EventNote> BpfThreads::Notes() const {
  std::vector<counter::EventNote> notes = notes_;
  const thread_totals totals = counts_->totals();
  if (totals.lost > 0) notes.push_back({"", fmt::format("{} rows found no room in the buffer", totals.lost)});
  if (totals.missed > 0)
    notes.push_back({"", fmt::format("{} threads could not be followed: the kernel had no memory", totals.missed)});
  return notes;
}

}  // namespace attune::session
