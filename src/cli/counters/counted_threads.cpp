#include "cli/counters/counted_threads.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/timer.h"
#include "cli/counters/row_modules.h"
#include "counter/core_types.h"
#include "counter/polled_threads.h"
#include "session/counting/bpf_threads.h"

namespace attune::cli {
namespace {

using counter::EventCount;
using counter::Moment;
using counter::ThreadCounts;

ThreadRow::Kind KindOf(const ThreadCounts& thread) {
  if (thread.tid == 0) return ThreadRow::Kind::kRest;
  switch (thread.moment) {
    case Moment::kEnded: return ThreadRow::Kind::kExit;
    case Moment::kSampled: return ThreadRow::Kind::kEbs;
    case Moment::kMigrated: return ThreadRow::Kind::kMigration;
    case Moment::kSelf: return ThreadRow::Kind::kSelf;
    default: return ThreadRow::Kind::kTick;
  }
}

/// Rows of threads from what is counted, and what they have grown by.
class ThreadRows {
 public:
  ThreadRows(std::unique_ptr<counter::ThreadCounting> counting, const ThreadOptions& options)
      : counting_(std::move(counting)), options_(options) {}

  counter::ThreadCounting& counting() { return *counting_; }
  int64_t PeriodNs() const {
    int64_t period_ns = counting_->PeriodNs();
    if (options_.every_ns > 0) period_ns = std::min(period_ns, options_.every_ns);
    if (options_.modules != nullptr) period_ns = std::min(period_ns, options_.modules->IntervalNs());
    return period_ns;
  }
  void Begin() { begin_ns_ = last_tick_ns_ = MonotonicNs(); }
  double Seconds(int64_t now_ns) const { return static_cast<double>(now_ns - begin_ns_) * 1e-9; }

  Status Read() {
    const int64_t now_ns = MonotonicNs();
    const bool is_tick =
        options_.every_ns > 0 && ticks_ < options_.most_rows && now_ns - last_tick_ns_ >= options_.every_ns;
    if (is_tick) ++ticks_;
    if (is_tick) last_tick_ns_ += (now_ns - last_tick_ns_) / options_.every_ns * options_.every_ns;
    is_look_ = options_.modules != nullptr && now_ns - last_look_ns_ >= options_.modules->IntervalNs();
    if (is_look_ || is_tick) last_look_ns_ = now_ns;
    is_look_ &= !is_tick;
    const Status read = counting_->Read(is_tick || is_look_, Visit());
    TellInOrder();
    return read;
  }

  bool HasToldAll() const { return !is_told_ || std::max(ticks_, samples_) >= options_.most_rows; }

  /// Takes in what ends a little later, and then what lives on.
  Result<ThreadRun> End() { return End(MonotonicNs(), Visit()); }

  /// Threads that live have what they counted up to now; of others, what the kernel tells a little later.
  Result<ThreadRun> EndNow() {
    const int64_t end_ns = MonotonicNs();
    is_look_ = false;
    std::set<std::pair<pid_t, int64_t>> told;
    ATTUNE_CHECK_OK(counting_->Read(true, [&](const ThreadCounts& thread) {
      if (thread.moment == Moment::kLives) told.insert({thread.tid, thread.start_ns});
      Take(thread);
    }));
    return End(end_ns, [&](const ThreadCounts& thread) {
      if (thread.tid == 0 || (thread.end_ns <= end_ns && !told.contains({thread.tid, thread.start_ns}))) Take(thread);
    });
  }
  void Note(counter::EventNote note) { run_.notes.push_back(std::move(note)); }

 private:
  Result<ThreadRun> End(int64_t end_ns, const counter::ThreadCounting::Visit& visit) {
    is_look_ = false;
    ATTUNE_CHECK_OK(counter::EndWhenAllHaveEnded(*counting_, visit));
    TellInOrder();
    run_.seconds = Seconds(end_ns);
    const auto of_modules = options_.modules != nullptr ? options_.modules->Notes() : std::vector<counter::EventNote>();
    for (const auto& notes : {counting_->Notes(), options_.left_out, options_.metrics.notes(), of_modules})
      run_.notes.insert(run_.notes.end(), notes.begin(), notes.end());
    return std::move(run_);
  }

  counter::ThreadCounting::Visit Visit() {
    return [this](const ThreadCounts& thread) { Take(thread); };
  }

  /// Moments that the modules alone want have no row.
  bool HasRow(const ThreadCounts& thread) const {
    switch (thread.moment) {
      case Moment::kLives: return !is_look_;
      case Moment::kEnded:
      case Moment::kSampled: return true;
      case Moment::kMigrated: return options_.migrations;
      case Moment::kSelf: return options_.self;
      default: return false;
    }
  }

  void Take(const ThreadCounts& thread) {
    if (options_.modules != nullptr) options_.modules->Take(thread);
    if (!HasRow(thread)) return;
    const bool is_sample =
        thread.moment == Moment::kSampled || thread.moment == Moment::kMigrated || thread.moment == Moment::kSelf;
    if (is_sample && ++samples_ > options_.most_rows) return;
    ThreadRow row{.kind = KindOf(thread),
                  .seconds = Seconds(thread.end_ns),
                  .lived_s = static_cast<double>(thread.end_ns - thread.start_ns) * 1e-9,
                  .core_type = core_types_.Of(thread.cpu),
                  .thread = thread};
    if (options_.tell) GoOnFromBefore(row);
    options_.metrics.Complete(row.thread.counts, row.lived_s);
    run_.rows.push_back(std::move(row));
  }

  /// Rows that were read at once are not in order: ends come after samples, one CPU's after another's.
  void TellInOrder() {
    if (options_.modules != nullptr) options_.modules->Complete(std::span(run_.rows).subspan(completed_));
    completed_ = run_.rows.size();
    std::ranges::stable_sort(run_.rows, {}, &ThreadRow::seconds);
    if (!options_.tell) return;
    for (const ThreadRow& row : run_.rows) is_told_ = is_told_ && options_.tell(row);
    run_.rows.clear();
    completed_ = 0;
  }

  /// The row is of the time since the thread's row before.
  void GoOnFromBefore(ThreadRow& row) {
    const ThreadCounts& thread = row.thread;
    const auto before = before_.find({thread.tid, thread.start_ns});
    std::vector<EventCount> now = thread.counts;
    if (before != before_.end()) {
      row.lived_s = static_cast<double>(thread.end_ns - before->second.end_ns) * 1e-9;
      row.thread.counts = counter::GrowthOf(now, before->second.counts);
    }
    if (thread.HasEnded()) {
      if (before != before_.end()) before_.erase(before);
    } else {
      before_[{thread.tid, thread.start_ns}] = {.end_ns = thread.end_ns, .counts = std::move(now)};
    }
  }

  std::unique_ptr<counter::ThreadCounting> counting_;
  const ThreadOptions& options_;
  const counter::CoreTypes core_types_{HostRoot()};
  int64_t begin_ns_ = 0, last_tick_ns_ = 0;
  int64_t last_look_ns_ = 0;  ///< at threads that live
  bool is_look_ = false;      ///< of the modules alone
  size_t completed_ = 0;      ///< rows that have the values of the modules
  int64_t ticks_ = 0, samples_ = 0;
  bool is_told_ = true;  ///< rows find a reader
  struct Before {
    int64_t end_ns = 0;
    std::vector<EventCount> counts;
  };
  std::map<std::pair<pid_t, int64_t>, Before> before_;  ///< by thread and start
  ThreadRun run_;
};

/// By eBPF where it is permitted, which sees each thread.
Result<std::shared_ptr<ThreadRows>> MakeRows(const ThreadOptions& options) {
  const HostRoot host;
  const counter::PerfOpen open = counter::KernelPerfOpen();
  const unsigned of_modules = options.modules != nullptr ? options.modules->Tells() : 0;
  auto by_bpf = session::BpfThreads::Create(
      host, open, options.events, options.online,
      (options.migrations ? kTellMigrations : 0) | (options.self ? kTellSelf : 0) | of_modules, options.buffer_bytes);
  if (by_bpf.ok()) {
    for (const counter::SampledEvent& sampled : options.periods) (*by_bpf)->SampleEvery(sampled.event, sampled.period);
    return std::make_shared<ThreadRows>(*std::move(by_bpf), options);
  }
  if (by_bpf.error().code == Errc::kInvalidArgument || !options.periods.empty() || options.migrations || options.self)
    return by_bpf.error();
  auto polled = std::make_unique<counter::PolledThreads>(host, open, options.events);
  const std::string note = fmt::format("threads that live for less than {} ms are told together ({})",
                                       polled->PeriodNs() / 1'000'000, by_bpf.error().message);
  auto rows = std::make_shared<ThreadRows>(std::move(polled), options);
  rows->Note({"", note});
  if (of_modules != 0) rows->Note({"", "modules are told of no starts, migrations and switches"});
  return rows;
}

/// @param ends_at_last whether it is done once all ticks are told
Result<session::Watch> Reader(const std::shared_ptr<ThreadRows>& rows, UniqueFd& timer, bool ends_at_last) {
  ATTUNE_TRY(timer, MakeTimer(rows->PeriodNs(), rows->PeriodNs()));
  return session::Watch{timer.get(), [fd = timer.get(), rows, ends_at_last] {
                          uint64_t ticks = 0;
                          (void)!read(fd, &ticks, sizeof ticks);
                          return rows->Read().ok() && !(ends_at_last && rows->HasToldAll());
                        }};
}

}  // namespace

Result<ThreadRun> CountThreadsOfProgram(const std::vector<std::string>& program, const ThreadOptions& options) {
  static const sigset_t program_mask = session::BlockLauncherSignals();
  ATTUNE_TRY(const std::shared_ptr<ThreadRows> rows, MakeRows(options));
  ATTUNE_TRY(session::Child child, ForkBound(program, options.binding, program_mask));
  ATTUNE_CHECK_OK(rows->counting().Follow(child.pid(), true));
  UniqueFd timer;
  ATTUNE_TRY(session::Watch reader, Reader(rows, timer, false));
  rows->Begin();
  ATTUNE_CHECK_OK(child.Go());
  rows->counting().HasBegun();
  ATTUNE_TRY(const session::ExitStatus exit, child.Wait({std::move(reader)}));
  ATTUNE_TRY(ThreadRun run, rows->End());
  run.exit = exit;
  return run;
}

Result<ThreadRun> CountThreadsOfProcess(pid_t pid, const ThreadOptions& options) {
  static_cast<void>(session::BlockLauncherSignals());
  if (!options.binding.attune.empty()) ATTUNE_CHECK_OK(options.binding.attune.PinThisThread());
  ATTUNE_TRY(const std::shared_ptr<ThreadRows> rows, MakeRows(options));
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return Error{Errc::kNotFound, fmt::format("there is no process {}", pid), "ps -e lists them"};
  rows->Begin();
  ATTUNE_CHECK_OK(rows->counting().Follow(pid, false));
  UniqueFd timer, end;
  std::vector<session::Watch> watches;
  ATTUNE_TRY(watches.emplace_back(), Reader(rows, timer, true));
  watches.push_back({process.get(), [] { return false; }});
  if (options.for_ns > 0) {
    ATTUNE_TRY(end, MakeTimer(options.for_ns));
    watches.push_back({end.get(), [] { return false; }});
  }
  ATTUNE_TRY(const int signal, session::WaitForEnd(watches));
  static_cast<void>(signal);
  return rows->EndNow();
}

}  // namespace attune::cli
