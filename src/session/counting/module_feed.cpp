#include "session/counting/module_feed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "kernel/thread_counts.h"

namespace attune::session {

using counter::EventCount;
using counter::Moment;
using counter::ThreadCounts;
using modules::ModuleHello;
using modules::Notice;
using modules::NoticeKind;

bool ModuleFeed::IsOfThreads(const ModuleHello& hello) {
  return hello.wants_samples || hello.wants_starts || hello.wants_migrations || hello.wants_switches;
}

std::vector<std::string> ModuleFeed::EventsOf(const ModuleHello& hello) {
  std::vector<std::string> names = hello.counters;
  names.emplace_back("task-clock");
  return names;
}

unsigned ModuleFeed::TellsOf(const ModuleHello& hello) {
  return (hello.wants_starts ? kTellStarts : 0) | (hello.wants_migrations ? kTellMigrations : 0) |
         (hello.wants_switches || hello.wants_switch_samples ? kTellSwitches : 0) |
         (hello.wants_switch_samples ? kTellSwitchCounts : 0) | (hello.wants_self_samples ? kTellSelf : 0);
}

Notice ModuleFeed::NoticeOf(const ThreadCounts& counts, NoticeKind kind) const {
  Notice notice{.t_ns = counts.end_ns, .kind = kind, .pid = counts.pid, .tid = counts.tid, .cpu = counts.cpu};
  notice.core_type = notice.core_type_before = core_types_.Of(counts.cpu);
  std::memcpy(notice.name, counts.name.data(), std::min(counts.name.size(), sizeof notice.name));
  return notice;
}

void ModuleFeed::Take(const ThreadCounts& counts, modules::ModuleProcess& process) {
  if (counts.tid == 0) return;  // the sum of those that nobody saw
  const auto [found, is_new] = threads_.try_emplace(counts.tid);
  Thread& thread = found->second;
  if (is_new || thread.start_ns != counts.start_ns)
    thread = {.pid = counts.pid, .start_ns = counts.start_ns, .sampled_ns = counts.start_ns};
  if (!std::exchange(thread.is_told, true) && hello_.wants_starts) {
    Notice notice = NoticeOf(counts, NoticeKind::kFork);
    notice.t_ns = counts.start_ns;
    process.Notify(notice);
  }
  const auto tell = [&](NoticeKind kind) { process.Notify(NoticeOf(counts, kind)); };
  switch (counts.moment) {
    case Moment::kStarted: break;  // told above, as whoever is seen first
    case Moment::kExec: tell(NoticeKind::kExec); break;
    case Moment::kSwitchedIn: tell(NoticeKind::kSwitchIn); break;
    case Moment::kSwitchedOut:
      if (hello_.wants_switch_samples) TellSample(thread, counts, NoticeKind::kSwitchSample, process);
      tell(NoticeKind::kSwitchOut);
      break;
    case Moment::kSelf:
      if (hello_.wants_self_samples) TellSample(thread, counts, NoticeKind::kSelfSample, process);
      break;
    case Moment::kMigrated: {
      TellSample(thread, counts, NoticeKind::kMigrationSample, process);
      Notice notice = NoticeOf(counts, NoticeKind::kMigrate);
      notice.from_cpu = counts.ran_on;
      process.Notify(notice);
      break;
    }
    case Moment::kLives:
    case Moment::kSampled: TellSample(thread, counts, NoticeKind::kTickSample, process); break;
    case Moment::kEnded:
      TellSample(thread, counts, NoticeKind::kExitSample, process);
      if (hello_.wants_starts) tell(NoticeKind::kExit);
      if (hello_.wants_starts) tell(NoticeKind::kFree);
      thread.ended_ns = MonotonicNs();
      break;
  }
}

/// The thread's counts since its sample before. The values come back later: a thread that has ended is kept until then.
void ModuleFeed::TellSample(Thread& thread, const ThreadCounts& counts, NoticeKind kind,
                            modules::ModuleProcess& process) {
  if (!hello_.wants_samples) return;
  Notice notice = NoticeOf(counts, kind);
  notice.interval_ns = counts.end_ns - thread.sampled_ns;
  notice.core_type_before = core_types_.Of(counts.ran_on);
  const std::vector<EventCount> growth = counter::GrowthOf(counts.counts, thread.counts);
  notice.cpu_ns = std::llround(growth.back().value);
  notice.counters = static_cast<uint32_t>(growth.size() - 1);
  for (size_t i = 0; i < notice.counters; ++i)
    notice.counts[i] = growth[i].is_known ? growth[i].value : std::numeric_limits<double>::quiet_NaN();
  thread.sampled_ns = counts.end_ns;
  thread.counts = counts.counts;
  process.Notify(notice);
}

void ModuleFeed::BeginAnew() {
  for (auto& [tid, thread] : threads_) thread.is_told = false;
}

const ModuleFeed::Thread* ModuleFeed::Find(pid_t tid) const {
  const auto found = threads_.find(tid);
  return found != threads_.end() ? &found->second : nullptr;
}

void ModuleFeed::Forget(int64_t before_ns) {
  std::erase_if(threads_,
                [&](const auto& entry) { return entry.second.ended_ns != 0 && entry.second.ended_ns < before_ns; });
}

}  // namespace attune::session
