#pragma once
/// Events that are counted together of a program, a process or CPUs.

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/host_root.h"
#include "base/unique_fd.h"
#include "counter/event.h"
#include "counter/perf_open.h"
#include "counter/scaled_count.h"

namespace attune::counter {

/// Threads or CPUs whose events are counted.
struct Counted {
  pid_t pid = -1;              ///< thread; -1: all that run on the CPUs
  CpuSet cpus;                 ///< empty: wherever the thread runs
  int cgroup_fd = -1;          ///< of the CPUs only what runs in this control group (a folder of cgroup2)
  bool with_children = false;  ///< also threads and processes that it starts from now on
  bool from_exec = false;      ///< from its next exec on
};

/// The count of a named event up to the last reading.
struct EventCount {
  double value = 0;           ///< in the event's unit; scaled where it shared a counter
  double bound = 0;           ///< it may be off by as much either way (ScaledCount::Bound)
  double share = 1;           ///< part of the time in which it was counted
  bool is_known = false;      ///< it was counted at all
  std::vector<double> parts;  ///< by the event's parts: cores of several kinds
};

/// Growth of counts since `before`, which is empty or of the same events.
std::vector<EventCount> GrowthOf(const std::vector<EventCount>& now, const std::vector<EventCount>& before);

/// Whether a program's own part has none of it; why it is not counted where the kernel's part may not be.
bool HappensInKernel(const Event& event);
inline constexpr std::string_view kNotInKernel = "it happens in the kernel, which may not be counted here";

/// @thread one at a time
class CounterSet {
 public:
  /// Opens what can be opened: an event that cannot is absent from the counts, and a note says why. Where the kernel
  /// does not let its own part be counted, it counts the program's alone, which a note says, too.
  /// Error: nothing can be counted. @cost 20 us an event and place
  static Result<CounterSet> Open(const HostRoot& host, const PerfOpen& open, std::vector<NamedEvent> events,
                                 const Counted& of);

  /// The same events of more: another thread, for example.
  Status Add(const Counted& of);
  void Read();
  /// In the order of events().
  std::vector<EventCount> Counts() const;
  const std::vector<NamedEvent>& events() const { return events_; }
  const std::vector<EventNote>& notes() const { return notes_; }
  bool is_user_only() const { return is_user_only_; }

 private:
  struct Counter {
    size_t event = 0;
    size_t part = 0;
    int cpu = -1;
    UniqueFd fd;
    ScaledCount count;
    bool is_of_kind = false;  ///< of a thread, on one kind of cores
  };
  CounterSet(const HostRoot& host, PerfOpen open, std::vector<NamedEvent> events)
      : host_(host), open_(std::move(open)), events_(std::move(events)) {}
  Status AddPart(size_t event, size_t part, const Counted& of);
  Status OpenOne(size_t event, size_t part, const Counted& of, int cpu);
  int LeaderOf(const Event& event, int cpu) const;
  /// @param event empty: of none
  void Note(const std::string& event, const std::string& why);
  static void ReadKinds(std::span<Counter> kinds);

  HostRoot host_;
  PerfOpen open_;
  std::vector<NamedEvent> events_;
  std::vector<Counter> counters_;
  size_t first_of_add_ = 0;  ///< of the counters
  std::vector<EventNote> notes_;
  bool is_user_only_ = false;
};

}  // namespace attune::counter
