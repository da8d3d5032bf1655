#include "cli/counters/counted_run.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <memory>

#include "base/child_process.h"
#include "base/clock.h"
#include "base/timer.h"
#include "counter/process_accounting.h"
#include "counter/thread_counting.h"
#include "session/probes/interposition.h"

namespace attune::cli {
namespace {

using counter::EventCount;
using counter::NamedEvent;

/// Counters that share a unit's are read so often, so that it can be told how far off their counts may be.
constexpr int64_t kWindowNs = 100'000'000;
/// An end that is asked for at a whole number of intervals comes a little later.
constexpr int64_t kLeastLastNs = 1'000'000;

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// Growth of the counters since the last time that it was asked for.
class Intervals {
 public:
  Intervals(std::shared_ptr<counter::CounterSet> set, const CountOptions& options, int64_t begin_ns)
      : set_(std::move(set)), options_(options), begin_ns_(begin_ns), at_ns_(begin_ns), left_(options.most_rows) {}

  /// @return false: there are to be no more
  bool Next() {
    set_->Read();
    if (!options_.tell) return true;
    if (left_ > 0) left_ = Tell() ? left_ - 1 : 0;
    return left_ > 0;
  }

  /// The part of an interval in which the counting ended, unless it is shorter. @pre the counters were read
  void Last(int64_t least_ns) {
    if (options_.tell && left_ > 0 && MonotonicNs() - at_ns_ >= least_ns) Tell();
  }

 private:
  bool Tell() {
    const int64_t now_ns = MonotonicNs();
    std::vector<EventCount> now = set_->Counts();
    std::vector<EventCount> grown = counter::GrowthOf(now, before_);
    options_.metrics.Complete(grown, Seconds(now_ns - at_ns_));
    before_ = std::move(now);
    at_ns_ = now_ns;
    return options_.tell(Seconds(now_ns - begin_ns_), grown);
  }

  std::shared_ptr<counter::CounterSet> set_;
  const CountOptions& options_;
  std::vector<EventCount> before_;
  int64_t begin_ns_, at_ns_, left_;
};

/// Reads the counters from time to time, and tells what they counted meanwhile.
Result<session::Watch> Reader(const std::shared_ptr<Intervals>& intervals, const CountOptions& options,
                              UniqueFd& timer) {
  const int64_t every_ns = options.every_ns > 0 ? options.every_ns : kWindowNs;
  ATTUNE_TRY(timer, MakeTimer(every_ns, every_ns));
  return session::Watch{timer.get(), [fd = timer.get(), intervals] {
                          uint64_t ticks = 0;
                          (void)!read(fd, &ticks, sizeof ticks);
                          return intervals->Next();
                        }};
}

/// Adds the metrics, or why there are none.
void CompleteMetrics(const CountOptions& options, RunCounts& result) {
  options.metrics.Complete(result.counts, result.seconds);
  for (const auto& notes : {options.left_out, options.metrics.notes()})
    result.notes.insert(result.notes.end(), notes.begin(), notes.end());
}

/// The events that perf must count: all where counts are wanted while it runs.
std::vector<NamedEvent> EventsOfPerf(const CountOptions& options) {
  std::vector<NamedEvent> events = options.events;
  if (!options.tell) std::erase_if(events, counter::IsAccounted);
  return events;
}

/// An event of perf begins in the middle of the exec, this before it: 0.1 ms and 5 page faults more. But each switch of
/// the program would be dearer by 60 ns for a second, and the first such event of a machine takes the kernel 10 ms.
counter::AccountedUse Accounted(const session::ExitStatus& used) {
  return {.cpu_ns = used.user_ns + used.system_ns,
          .minor_faults = used.minor_faults,
          .major_faults = used.major_faults,
          .switches = used.voluntary_switches + used.involuntary_switches};
}

/// The kernel takes events of perf off a program whose memory its user may not read. @return "": it does not
std::string WhyNotOfPerf(const std::string& program) {
  const std::string file = FindProgram(program, std::getenv("PATH"));
  if (file.empty()) return "";
  const bool gains_rights = session::GainsRights(file, ::getuid(), ::getgid());
  if (!gains_rights && ::access(file.c_str(), R_OK) == 0) return "";
  return fmt::format("{} {}: the kernel counts no events of perf in it", program,
                     gains_rights ? "runs with rights of its own (setuid, setgid or capabilities)" : "may not be read");
}

}  // namespace

Result<session::Child> ForkBound(const std::vector<std::string>& program, const Binding& binding,
                                 const sigset_t& program_mask) {
  const CpuSet allowed = CpuSet::Allowed();
  const auto pin = [&](const CpuSet& cpus) { return cpus.empty() ? allowed.PinThisThread() : cpus.PinThisThread(); };
  if (!binding.program.empty()) ATTUNE_CHECK_OK(pin(binding.program));
  auto child = session::Child::Fork({.program = program, .environment = {}}, program_mask);
  if (!binding.program.empty() || !binding.attune.empty()) ATTUNE_CHECK_OK(pin(binding.attune));
  return child;
}

Result<RunCounts> CountProgram(const std::vector<std::string>& program, const CountOptions& options) {
  const HostRoot host;
  const counter::PerfOpen open = counter::KernelPerfOpen();
  static const sigset_t program_mask = session::BlockLauncherSignals();
  ATTUNE_TRY(session::Child child, ForkBound(program, options.binding, program_mask));
  RunCounts result;
  std::shared_ptr<counter::CounterSet> set;
  const std::vector<NamedEvent> events = EventsOfPerf(options);
  if (!events.empty()) {
    auto opened = counter::CounterSet::Open(host, open, events,
                                            {.pid = child.pid(), .cpus = {}, .with_children = true, .from_exec = true});
    // Totals that the kernel accounts anyway are told also where perf is refused.
    if (!opened.ok() && events.size() == options.events.size()) return opened.error();
    if (opened.ok()) set = std::make_shared<counter::CounterSet>(*std::move(opened));
    if (const std::string why = WhyNotOfPerf(program.front()); opened.ok() && !why.empty())
      result.notes.push_back({"", why});
    if (!opened.ok()) result.notes.push_back({"", opened.error().message});
  }
  const int64_t begin_ns = MonotonicNs();
  ATTUNE_CHECK_OK(child.Go());
  std::vector<session::Watch> watches;
  UniqueFd timer;
  const auto intervals = std::make_shared<Intervals>(set, options, begin_ns);
  if (set != nullptr) {
    ATTUNE_TRY(session::Watch reader, Reader(intervals, options, timer));
    watches.push_back(std::move(reader));
  }
  ATTUNE_TRY(result.exit, child.Wait(std::move(watches)));
  result.seconds = Seconds(result.exit.end_ns - begin_ns);
  const session::ExitStatus& used = result.exit;
  result.cpu = {.user = Seconds(used.user_ns), .system = Seconds(used.system_ns)};
  const counter::AccountedUse use = Accounted(used) - Accounted(child.BeforeExec());
  std::vector<EventCount> of_perf;
  if (set != nullptr) {
    set->Read();
    intervals->Last(0);
    of_perf = set->Counts();
    result.notes.insert(result.notes.end(), set->notes().begin(), set->notes().end());
  }
  size_t next = 0;
  for (const NamedEvent& event : options.events) {
    const bool is_of_perf = options.tell || !counter::IsAccounted(event);
    if (is_of_perf) {
      result.counts.push_back(next < of_perf.size() ? of_perf[next] : EventCount{.is_known = false});
      ++next;
    } else {
      result.counts.push_back({.value = counter::AccountedCount(event, use), .is_known = true});
    }
  }
  CompleteMetrics(options, result);
  return result;
}

Result<RunCounts> CountRunning(pid_t pid, const CpuSet& cpus, int cgroup_fd, const CountOptions& options) {
  const HostRoot host;
  static_cast<void>(session::BlockLauncherSignals());
  if (!options.binding.attune.empty()) ATTUNE_CHECK_OK(options.binding.attune.PinThisThread());
  counter::Counted of{.pid = -1, .cpus = cpus, .cgroup_fd = cgroup_fd, .with_children = false};
  std::vector<pid_t> threads;
  if (pid != 0) {
    threads = counter::ThreadsOf(host, pid);
    if (threads.empty()) return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
    of = {.pid = threads.front(), .cpus = {}, .with_children = true};
  }
  ATTUNE_TRY(counter::CounterSet opened,
             counter::CounterSet::Open(host, counter::KernelPerfOpen(), options.events, of));
  const auto set = std::make_shared<counter::CounterSet>(std::move(opened));
  for (size_t i = 1; i < threads.size(); ++i) {
    of.pid = threads[i];
    const Status added = set->Add(of);
    if (!added.ok() && added.error().code != Errc::kNotFound) return added.error();  // it may have ended
  }
  const int64_t begin_ns = MonotonicNs();
  UniqueFd timer, end, process;
  std::vector<session::Watch> watches;
  const auto intervals = std::make_shared<Intervals>(set, options, begin_ns);
  ATTUNE_TRY(session::Watch reader, Reader(intervals, options, timer));
  watches.push_back(std::move(reader));
  if (options.for_ns > 0) {
    ATTUNE_TRY(end, MakeTimer(options.for_ns));
    watches.push_back({end.get(), [] { return false; }});
  }
  if (pid != 0) {
    process.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (process) watches.push_back({process.get(), [] { return false; }});
  }
  ATTUNE_TRY(const int signal, session::WaitForEnd(watches));
  static_cast<void>(signal);
  set->Read();
  intervals->Last(kLeastLastNs);
  RunCounts result{.seconds = Seconds(MonotonicNs() - begin_ns),
                   .cpu = {},
                   .counts = set->Counts(),
                   .notes = set->notes(),
                   .exit = {}};
  CompleteMetrics(options, result);
  return result;
}

}  // namespace attune::cli
