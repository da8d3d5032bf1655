#pragma once
#include "model/table.h"

namespace attune::model {

/// Growth of an event's count of one thread on one CPU since its rows before.
struct ThreadCount {
  int64_t t_ns = 0;
  ElementId element = 0;
  std::string event;
  int64_t count = 0;
  int64_t counted_ppm = 1'000'000;
  int64_t cpu = kAbsent;

  bool operator==(const ThreadCount&) const = default;

  static constexpr Table kTable{27};
  static constexpr TableText kText{.name = "thread_counts",
                                   .about = "events of a thread on a CPU since its rows of the event before (--count)",
                                   .storage = Storage::kTimed,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&ThreadCount::t_ns, "t_ns", Role::kTime, "ns", "when it was read, or the thread's end"),
                 Col(&ThreadCount::element, "element", Role::kElement, "",
                     "a thread; the machine: all threads that were too short-lived to be seen"),
                 Col(&ThreadCount::event, "event", Role::kText, "", "as it was asked for"),
                 Col(&ThreadCount::count, "count", Role::kAmount, "", "how often; of task-clock and cpu-clock: ns"),
                 Col(&ThreadCount::counted_ppm, "counted_ppm", Role::kInteger, "ppm",
                     "part of the time in which it was counted; the count is scaled by it"),
                 Col(&ThreadCount::cpu, "cpu", Role::kInteger, "",
                     "CPU on which the thread counted it; NULL: not known, as of the machine's row"));
  }
};

}  // namespace attune::model
