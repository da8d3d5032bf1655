#pragma once
/// Following processes: what a watcher reports, whichever way it gets to know (eBPF, process connector, polling).

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/batch.h"

namespace attune::model {

/// Totals of a process with all its threads; kAbsent: not known.
struct ProcessUsage {
  int64_t user_ns = kAbsent;
  int64_t system_ns = kAbsent;
  int64_t minor_faults = kAbsent;
  int64_t major_faults = kAbsent;
  int64_t voluntary_switches = kAbsent;
  int64_t involuntary_switches = kAbsent;
  int64_t max_rss_bytes = kAbsent;
};

struct ProcessEvent {
  enum class Kind { kFork, kExec, kExit, kThreadStart, kThreadExit, kName };
  Kind kind = Kind::kFork;
  pid_t pid = 0;
  pid_t tid = 0;     ///< threads; else the pid
  pid_t parent = 0;  ///< fork; 0: not known
  int64_t t_ns = 0;  ///< as exact as the watcher can tell
  int64_t exit_code = kAbsent;    ///< exit
  int64_t exit_signal = kAbsent;  ///< exit; 0: it exited by itself
  ProcessUsage usage{};           ///< exit
  std::string command{};          ///< fork, exec: arguments joined by spaces; kName: the thread's name
};

class ProcessWatcher {
 public:
  using Visitor = std::function<void(const ProcessEvent&)>;
  virtual ~ProcessWatcher() = default;
  /// "eBPF", "process connector", "polling /proc every 20 ms"
  virtual std::string_view Method() const = 0;
  /// What it cannot see, in words for the report; empty: it sees everything.
  virtual std::string_view Limits() const = 0;
  /// Follows a process, its threads and all its descendants from now on. What exists already is reported at once by the
  /// next Poll(), as forks and thread starts.
  virtual Status Follow(pid_t pid) = 0;
  /// Hands over what happened since the last call. @return events lost since then
  virtual Result<uint64_t> Poll(const Visitor& visit) = 0;
  /// To wait on; -1: it must be polled, every PollIntervalNs().
  virtual int fd() const = 0;
  virtual int64_t PollIntervalNs() const = 0;
};

}  // namespace attune::model
