#pragma once
/// Counts of each thread by perf events of its own, which need no rights beyond those over the process. Threads are
/// looked for in /proc: those that end in between are told in one row, with what others counted before they were found
/// (CPU time of those is their own: the kernel has it of each).

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/host_root.h"
#include "counter/thread_counting.h"

namespace attune::counter {

class PolledThreads final : public ThreadCounting {
 public:
  PolledThreads(const HostRoot& host, PerfOpen open, std::vector<NamedEvent> events)
      : host_(host), open_(std::move(open)), events_(std::move(events)) {}

  /// @cost a descriptor for each event of each thread
  Status Follow(pid_t pid, bool from_exec) override;
  void HasBegun() override;
  /// Threads that live shorter than that are told together.
  int64_t PeriodNs() const override { return 10'000'000; }
  Status Read(bool with_living, const Visit& visit) override;
  bool HaveAllEnded() const override { return threads_.empty(); }
  Status End(const Visit& visit) override;
  std::vector<EventNote> Notes() const override { return notes_; }

 private:
  struct Thread {
    pid_t pid = 0;
    std::string name;
    int looks = 0;  ///< at its name, which it may get after its start
    int64_t start_ns = 0;
    std::optional<CounterSet> set;  ///< nullopt: it cannot be counted, and is of the rest
    int64_t before_ns = 0;          ///< CPU time until it was found
    int cpu = -1;                   ///< that it was last seen on
    bool is_there = false;          ///< at the last look
  };

  Status Begin(pid_t pid, pid_t tid, bool from_exec);
  /// Whether it has ended, also where there is no descriptor left to look for it.
  bool HasEnded(pid_t tid, const Thread& thread) const;
  /// Looks for threads, and for processes that they started.
  Status Look(pid_t pid);
  void Name(pid_t tid, Thread& thread);
  void SeeCpu(pid_t tid, Thread& thread);
  /// @pre thread.set
  ThreadCounts CountsOf(pid_t tid, Thread& thread);
  void Note(const EventNote& note);

  HostRoot host_;
  PerfOpen open_;
  std::vector<NamedEvent> events_;
  std::optional<CounterSet> all_;  ///< with all that they start
  std::vector<pid_t> roots_;
  bool are_whole_ = true;      ///< all that is found has started since it is followed
  std::set<pid_t> looked_at_;  ///< processes, at this look
  std::map<pid_t, Thread> threads_;
  std::vector<double> ended_;  ///< counts of threads that have ended, by event
  int64_t begin_ns_ = 0;
  std::vector<EventNote> notes_;
};

}  // namespace attune::counter
