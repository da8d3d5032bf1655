#pragma once
/// Following a program: its processes and threads as they start, change and end.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/schedule.h"
#include "model/schema.h"

namespace attune::model {

/// Resources used by a process or thread so far; kAbsent if the method cannot know a value.
struct ProcessUsage {
  int64_t user_ns = kAbsent;
  int64_t system_ns = kAbsent;
  int64_t minor_faults = kAbsent;
  int64_t major_faults = kAbsent;
  int64_t voluntary_switches = kAbsent;
  int64_t involuntary_switches = kAbsent;
  int64_t max_rss_bytes = kAbsent;
};

enum class ProcessEventKind : uint8_t {
  kFork,         ///< process `pid` was made by `parent_pid`
  kExec,         ///< `pid` runs another program: `command`. Its other threads are gone
  kExit,         ///< `pid` ended, with all threads that it still had: exit_code, exit_signal, usage of all its threads
  kThreadStart,  ///< `tid` of `pid`. Not sent for the first thread of a process
  kThreadExit,   ///< `tid` ended and `pid` goes on; usage of this thread
  kName,         ///< `tid` is called `command` now
};

/// Events of one process come in order of time. Pids are those of the watcher's own pid namespace.
struct ProcessEvent {
  ProcessEventKind kind = ProcessEventKind::kFork;
  int64_t t_ns = 0;
  int64_t pid = 0;
  int64_t tid = 0;
  int64_t parent_pid = kAbsent;   ///< kFork
  int64_t exit_code = kAbsent;    ///< kExit
  int64_t exit_signal = kAbsent;  ///< kExit; 0: it ended by itself
  ProcessUsage usage;             ///< kExit, kThreadExit
  /// kFork, kThreadStart: the name that the kernel shows. kExec: arguments joined by spaces, "" where they could not be
  /// read. kName: the new name. Control characters are replaced.
  std::string command;
};

/// Follows processes and everything that they start. @thread one at a time
class ProcessWatcher {
 public:
  virtual ~ProcessWatcher() = default;

  /// Name of the method, for the recording and the report: "ebpf", "connector", "polling".
  virtual std::string_view Method() const = 0;
  /// Limitations of the method, in a sentence; "": none.
  virtual std::string_view Limits() const = 0;

  /// Follows a process and all its descendants from now on. The next Poll reports existing processes and threads as if
  /// they had just started, with the true times: kFork (and kExec) for each process, kThreadStart for each thread.
  /// @return kNotFound: no such process
  virtual Status Follow(int64_t pid) = 0;

  /// Delivers the events since the last call; never blocks. @return number of events
  virtual Result<size_t> Poll(const std::function<void(const ProcessEvent&)>& visit) = 0;

  /// Readable when a Poll is worth it; for epoll.
  virtual int fd() const = 0;

  /// Events (polling: processes) that are known to be lost, so far. Polling gives a lower bound.
  virtual uint64_t Lost() const = 0;

  /// Number of futex calls of the followed processes so far, including ended ones.
  /// @return kUnavailable or kPermission: this method does not count them; the hint names one that does
  /// @thread any  @cost 1 us
  virtual Result<uint64_t> FutexCalls() const {
    return Error{Errc::kUnavailable, "only eBPF counts them",
                 "run as root; or `attune doctor` prints the setcap command for this host"};
  }

  /// An eBPF program for PERF_EVENT_IOC_SET_BPF that lets through samples of followed processes alone; -1: none.
  virtual int SampleFilter() const { return -1; }

  /// The name of the kernel's function at an address; "": not known, or this way of following cannot tell.
  /// @thread any  @cost 2 us
  virtual std::string KernelFunction(uint64_t) const { return {}; }

  /// Accounts for the time of the threads that it follows from now on. Once, before the first Follow().
  /// @return lives as long as the watcher; kUnavailable or kPermission: this way of following cannot
  virtual Result<ScheduleAccount*> AccountForTime() {
    return Error{Errc::kUnavailable, "only eBPF accounts for each switch of a thread",
                 "run as root; or `attune doctor` prints the setcap command for this host"};
  }
};

/// In the initial PID namespace alone the kernel's numbers of processes are those of here.
/// @param method for the error
Status CheckPidNamespace(const HostRoot& host, std::string_view method);

/// A watcher that is told of each event as it happens.
class EventWatcher : public ProcessWatcher {
 public:
  Result<size_t> Poll(const std::function<void(const ProcessEvent&)>& visit) final;

 protected:
  /// Hands on what has come.
  virtual Status Receive() = 0;
  void Hand(const ProcessEvent& event);

  std::vector<ProcessEvent> existing_;  ///< events that Follow found, for the next Poll

 private:
  const std::function<void(const ProcessEvent&)>* visit_ = nullptr;
  size_t count_ = 0;
};

}  // namespace attune::model
