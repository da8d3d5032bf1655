#include "track/polling.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "track/process_usage.h"

namespace attune::track {
namespace {

using model::ProcessEvent;
using model::ProcessEventKind;

constexpr int64_t kSlowestNs = 200'000'000;
constexpr int64_t kStatusEveryNs = 200'000'000;  // peak memory and context switches are read less often
constexpr int64_t kMaxShare = 20;                // a look costs at most a twentieth of the interval

/// PIDFD_GET_INFO of Linux 6.13; the exit status is there from 6.15 on. Not in the headers of Debian 12.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup_id;
  uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kPidfdInfoExit = 1u << 3;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

/// The wait status of a process that ended and was reaped; nothing where the kernel does not keep it.
std::optional<int> ExitStatusOf(const UniqueFd& pidfd) {
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (!pidfd || ::ioctl(pidfd.get(), kPidfdGetInfo, &info) != 0 || (info.mask & kPidfdInfoExit) == 0)
    return std::nullopt;
  return info.exit_code;
}

struct Polled {
  ProcStat stat;
  model::ProcessUsage usage;
  std::map<int64_t, std::string> threads;  ///< names by tid, as they were last told
  std::string command;
  UniqueFd pidfd;
  int64_t status_ns = 0;              ///< when its status was read
  int64_t named_up_to = 0;            ///< the thread whose name was read last
  std::vector<ProcStat> zombies;      ///< children that ended and may not have been reaped yet
  uint64_t explained_until_look = 0;  ///< up to then a child that was seen explains faults of reaped children
};

class PollingWatcher final : public model::ProcessWatcher {
 public:
  PollingWatcher(HostRoot host, int64_t interval_ns, UniqueFd timer)
      : host_(std::move(host)), base_interval_ns_(interval_ns), interval_ns_(interval_ns), timer_(std::move(timer)) {
    Arm(interval_ns);
  }

  std::string_view Method() const override { return "polling"; }
  std::string_view Limits() const override {
    return "looks at /proc every 10 ms (less often where there are many processes): shorter processes can be missed, "
           "times are late by as much, and exit codes can be unknown";
  }
  int fd() const override { return timer_.get(); }
  uint64_t Lost() const override { return lost_; }

  Status Follow(int64_t pid) override {
    ATTUNE_TRY(const ProcStat stat, ReadProcStat(host_, pid));
    if (followed_.contains(pid)) return {};
    Adopt(stat);
    unrelated_.clear();  // its children may have been looked at before
    return FindNew();
  }

  Result<size_t> Poll(const std::function<void(const ProcessEvent&)>& visit) override {
    uint64_t expirations = 0;
    // Nothing there: somebody polls earlier than the timer says, which is fine.
    (void)!::read(timer_.get(), &expirations, sizeof expirations);
    const int64_t begin_ns = MonotonicNs();
    ++look_;
    const bool created = SomethingWasCreated();
    if (created) ATTUNE_CHECK_OK(FindNew());
    LookAtFollowed(created);
    AdaptInterval(MonotonicNs() - begin_ns);
    std::vector<ProcessEvent> events;
    events.swap(events_);
    for (const ProcessEvent& event : events) visit(event);
    return events.size();
  }

 private:
  void Arm(int64_t interval_ns) {
    const timespec time{interval_ns / 1'000'000'000, interval_ns % 1'000'000'000};
    const itimerspec spec{time, time};
    ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
    interval_ns_ = interval_ns;
  }

  void AdaptInterval(int64_t cost_ns) {
    const int64_t wanted_ns =
        std::clamp(cost_ns * kMaxShare, base_interval_ns_, std::max(base_interval_ns_, kSlowestNs));
    if (wanted_ns > interval_ns_ || wanted_ns * 2 < interval_ns_) Arm(wanted_ns);
  }

  /// /proc/loadavg ends with the newest pid: while it stays, there is no new process or thread.
  bool SomethingWasCreated() {
    const auto text = host_.ReadFile("/proc/loadavg");
    if (!text.ok()) return true;
    std::string last_pid = text->substr(text->rfind(' ') + 1);
    if (last_pid == last_pid_) return false;
    last_pid_ = std::move(last_pid);
    return true;
  }

  /// Adopts the processes whose parent is followed.
  Status FindNew() {
    ATTUNE_TRY(const std::vector<int64_t> pids, ListProcesses(host_));
    std::erase_if(unrelated_, [&](int64_t pid) { return !std::binary_search(pids.begin(), pids.end(), pid); });
    std::vector<ProcStat> candidates;
    for (const int64_t pid : pids) {
      if (followed_.contains(pid) || unrelated_.contains(pid)) continue;
      auto stat = ReadProcStat(host_, pid);
      if (stat.ok()) candidates.push_back(*std::move(stat));
    }
    for (bool adopted = true; adopted;) {
      adopted = false;
      for (ProcStat& stat : candidates) {
        if (stat.pid == 0 || !followed_.contains(stat.parent_pid)) continue;
        Adopt(stat);
        stat.pid = 0;
        adopted = true;
      }
    }
    for (const ProcStat& stat : candidates) {
      if (stat.pid != 0) unrelated_.insert(stat.pid);
    }
    return {};
  }

  void Adopt(const ProcStat& stat) {
    Polled process;
    process.stat = stat;
    process.usage = UsageOf(stat);
    if (host_.IsThisMachine()) process.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, stat.pid, 0)));
    for (ProcessEvent& event : DescribeProcess(host_, stat)) {
      process.threads[event.tid] = event.command;
      if (event.kind == ProcessEventKind::kExec) process.command = event.command;
      events_.push_back(std::move(event));
    }
    followed_[stat.pid] = std::move(process);
  }

  void LookAtFollowed(bool created) {
    const int64_t now_ns = MonotonicNs();
    std::vector<int64_t> ended;
    for (auto& [pid, process] : followed_) {
      const auto stat = ReadProcStat(host_, pid);
      const bool same = stat.ok() && stat->start_ticks == process.stat.start_ticks;
      if (same) process.usage = Merge(UsageOf(*stat), process.usage);
      // A first thread that ended before the others is shown as a zombie, too.
      if (!same || ((stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1)) {
        Exit(process, same ? &*stat : nullptr, now_ns);
        ended.push_back(pid);
        continue;
      }
      NoticeExec(process, *stat, now_ns);
      NoticeThreads(process, *stat, created, now_ns);
      if (now_ns - process.status_ns >= kStatusEveryNs) {
        process.status_ns = now_ns;
        NoticeNames(process, now_ns);
        if (auto usage = ReadUsage(host_, pid); usage.ok()) process.usage = Merge(*usage, process.usage);
      }
      const bool reaped = stat->children_minor_faults > process.stat.children_minor_faults;
      process.stat = *stat;
      if (reaped) reapers_.push_back(pid);
    }
    // After the exits of this look are known: they explain what their parents reaped.
    for (const int64_t pid : reapers_) NoticeReaped(followed_[pid]);
    reapers_.clear();
    for (const int64_t pid : ended) {
      followed_.erase(pid);
      unrelated_.insert(pid);  // a zombie until it is reaped
    }
  }

  /// Newer values, and the older ones where the newer reading has none.
  static model::ProcessUsage Merge(model::ProcessUsage newer, const model::ProcessUsage& older) {
    newer.voluntary_switches = std::max(newer.voluntary_switches, older.voluntary_switches);
    newer.involuntary_switches = std::max(newer.involuntary_switches, older.involuntary_switches);
    newer.max_rss_bytes = std::max(newer.max_rss_bytes, older.max_rss_bytes);
    return newer;
  }

  void Emit(ProcessEventKind kind, const Polled& process, int64_t tid, int64_t t_ns, std::string command = "") {
    ProcessEvent& event = events_.emplace_back();
    event.kind = kind;
    event.t_ns = t_ns;
    event.pid = process.stat.pid;
    event.tid = tid;
    event.command = std::move(command);
  }

  /// @param zombie its stat if it has not been reaped yet
  void Exit(Polled& process, const ProcStat* zombie, int64_t now_ns) {
    const int64_t pid = process.stat.pid;
    Emit(ProcessEventKind::kExit, process, pid, now_ns);
    ProcessEvent& event = events_.back();
    // For another user's zombie /proc shows 0 instead of the status. A stack_start other than 0 means a program of the
    // same user.
    const bool status_is_shown = process.stat.stack_start != 0 || !host_.IsThisMachine();
    if (const auto status = ExitStatusOf(process.pidfd)) {
      SetWaitStatus(*status, event);
    } else if (zombie != nullptr && zombie->wait_status != model::kAbsent &&
               (status_is_shown || zombie->wait_status != 0)) {
      SetWaitStatus(zombie->wait_status, event);
    }
    event.usage = process.usage;
    const auto parent = followed_.find(process.stat.parent_pid);
    if (parent == followed_.end()) {
      explained_until_look_ = look_ + 1;  // reaped by whoever adopted it
    } else if (zombie != nullptr) {
      parent->second.zombies.push_back(*zombie);
    } else {
      parent->second.explained_until_look = look_ + 1;
    }
  }

  void NoticeExec(Polled& process, const ProcStat& stat, int64_t now_ns) {
    const bool renamed = stat.name != process.stat.name;
    const bool new_stack =
        stat.stack_start != process.stat.stack_start && stat.stack_start != 0 && process.stat.stack_start != 0;
    if (!renamed && !new_stack) return;
    auto command = ReadCommand(host_, stat.pid);
    const bool new_command = command.ok() && *command != process.command;
    if (new_stack || new_command) {
      if (command.ok()) process.command = *std::move(command);
      Emit(ProcessEventKind::kExec, process, stat.pid, now_ns, process.command);
    }
    if (renamed) Emit(ProcessEventKind::kName, process, stat.pid, now_ns, CleanText(stat.name));
  }

  void NoticeThreads(Polled& process, const ProcStat& stat, bool created, int64_t now_ns) {
    const bool other_number = static_cast<size_t>(stat.threads) != process.threads.size();
    if (!other_number && !(created && stat.threads > 1)) return;
    const auto listed = ListThreads(host_, stat.pid);
    if (!listed.ok()) return;
    const std::set<int64_t> threads(listed->begin(), listed->end());
    std::erase_if(process.threads, [&](const auto& thread) {
      if (threads.contains(thread.first)) return false;
      Emit(ProcessEventKind::kThreadExit, process, thread.first, now_ns);
      return true;
    });
    for (const int64_t tid : threads) {
      if (process.threads.contains(tid)) continue;
      const auto thread = ReadThreadStat(host_, stat.pid, tid);
      process.threads[tid] = thread.ok() ? CleanText(thread->name) : "";
      Emit(ProcessEventKind::kThreadStart, process, tid, thread.ok() ? StartNs(*thread) : now_ns, process.threads[tid]);
    }
  }

  /// Programs name their threads when they run already. Some at a time, in turn: there may be thousands.
  void NoticeNames(Polled& process, int64_t now_ns) {
    constexpr size_t kAtOnce = 64;
    const size_t count = std::min(kAtOnce, process.threads.size());
    for (size_t i = 0; i < count; ++i) {
      auto thread = process.threads.upper_bound(process.named_up_to);
      if (thread == process.threads.end()) thread = process.threads.begin();
      auto& [tid, known] = *thread;
      process.named_up_to = tid;
      if (tid == process.stat.pid) continue;  // as in its stat
      const auto text = host_.ReadFile(fmt::format("/proc/{}/task/{}/comm", process.stat.pid, tid));
      if (!text.ok()) continue;
      std::string name = CleanText(text->substr(0, text->find('\n')));
      if (name == known) continue;
      known = name;
      Emit(ProcessEventKind::kName, process, tid, now_ns, std::move(name));
    }
  }

  /// It reaped children since the last look: if none of those that were seen, then one that was missed.
  void NoticeReaped(Polled& process) {
    const size_t gone = std::erase_if(process.zombies, [this](const ProcStat& zombie) {
      const auto stat = ReadProcStat(host_, zombie.pid);
      return !stat.ok() || stat->start_ticks != zombie.start_ticks;
    });
    if (gone == 0 && look_ > process.explained_until_look && look_ > explained_until_look_) ++lost_;
  }

  const HostRoot host_;
  const int64_t base_interval_ns_;
  int64_t interval_ns_;
  UniqueFd timer_;
  std::map<int64_t, Polled> followed_;
  std::set<int64_t> unrelated_;  ///< pids that are there and not ours
  std::vector<int64_t> reapers_;
  std::vector<ProcessEvent> events_;
  std::string last_pid_;
  uint64_t look_ = 0;
  uint64_t explained_until_look_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace

Result<std::unique_ptr<model::ProcessWatcher>> MakePollingWatcher(HostRoot host, int64_t interval_ns) {
  if (const auto processes = ListProcesses(host); !processes.ok()) {
    return Error{Errc::kUnavailable, processes.error().message, "mount /proc"};
  }
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer) return ErrnoError("timerfd_create");
  return std::unique_ptr<model::ProcessWatcher>(
      std::make_unique<PollingWatcher>(std::move(host), interval_ns, std::move(timer)));
}

}  // namespace attune::track
