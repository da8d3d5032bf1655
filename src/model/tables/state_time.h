#pragma once
#include "model/table.h"

namespace attune::model {

/// State of a thread, by the kernel's scheduler; from kFutex on it sleeps, in a system call of that kind.
enum class TimeState : uint8_t {
  kRunning = 1,
  kQueuedProgram,  ///< it could run, and another observed thread had the CPU that it got
  kQueuedOthers,   ///< another program had it
  kQueuedWake,     ///< nobody had it: the time that an idle CPU takes to wake up
  kFutex,          ///< locks, conditions, barriers, joins
  kSleep,
  kPoll,      ///< for any of several descriptors
  kPipe,      ///< reading or writing one
  kSocket,    ///< likewise
  kDevice,    ///< a terminal, or another character device
  kFile,      ///< a regular file, or a block device
  kEvent,     ///< an eventfd, timerfd, signalfd, inotify
  kChild,     ///< for the end of a process
  kSignal,    ///< pause, sigwait
  kMemory,    ///< a page from disk, or memory that the kernel makes room for
  kStopped,   ///< by a signal or a debugger
  kCall,      ///< a system call of another kind
  kProgram,   ///< CPU state: it ran observed threads
  kOthers,    ///< CPU state: it ran others, and the kernel's own
  kIdle,      ///< CPU state: it was idle
  kNoThread,  ///< machine state: no observed thread was running or queued
};
template <>
struct Words<TimeState> {
  static constexpr std::array<std::string_view, 22> kAll{
      "?",       "running", "queued_program", "queued_others", "queued_wake", "futex",    "sleep",  "poll",
      "pipe",    "socket",  "device",         "file",          "event",       "child",    "signal", "memory",
      "stopped", "call",    "program",        "others",        "idle",        "no_thread"};
};

/// Time that a thread or CPU spent in one state since its rows before.
struct StateTime {
  int64_t t_ns = 0;
  ElementId element = 0;
  TimeState state = TimeState::kRunning;
  ElementId waker = 0;
  int64_t ns = 0;
  int64_t count = 0;
  int64_t alone_ns = 0;
  int64_t idle_cpus_ns = 0;

  bool operator==(const StateTime&) const = default;

  static constexpr Table kTable{26};
  static constexpr TableText kText{.name = "state_times",
                                   .about = "what the scheduler did with a thread or CPU since its rows before",
                                   .storage = Storage::kTimed,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(Col(&StateTime::t_ns, "t_ns", Role::kTime, "ns", "when it was read; of a stretch alone: its end"),
                 Col(&StateTime::element, "element", Role::kElement, "", "a thread, a CPU, or the machine"),
                 Col(&StateTime::state, "state", Role::kCode, "", "running, queued for a CPU, or why it slept"),
                 Col(&StateTime::waker, "waker", Role::kElement, "",
                     "observed thread that ended these sleeps, or that stretch; 0: not known, or not one"),
                 Col(&StateTime::ns, "ns", Role::kAmount, "ns", "time in that state"),
                 Col(&StateTime::count, "count", Role::kAmount, "", "times that the state ended"),
                 Col(&StateTime::alone_ns, "alone_ns", Role::kAmount, "ns",
                     "of running: time in which no other observed thread was running or queued; of a stretch of 50 us "
                     "or more in a row without ns"),
                 Col(&StateTime::idle_cpus_ns, "idle_cpus_ns", Role::kAmount, "ns",
                     "of running: its part of what CPUs were without an observed thread meanwhile, "
                     "(CPUs - active threads) / active threads"));
  }
};

}  // namespace attune::model
