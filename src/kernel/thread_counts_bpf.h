#pragma once
/// Counts events of each thread of a program by eBPF programs on the scheduler's tracepoints: of each, however briefly
/// it lives, without a descriptor a thread. Needs what MakeBpfWatcher needs.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernel/thread_counts.h"

namespace attune::kernel {

/// @thread one at a time
class ThreadCountsBpf {
 public:
  static constexpr size_t kMaxCounters = kMaxThreadCounters;
  /// Descriptor of perf's of one event on each possible CPU, for all threads; -1: it is not counted there.
  using OnCpus = std::vector<int>;
  using Visit = std::function<void(const thread_row&)>;

  /// @param events at most kMaxCounters; the kernel keeps them, their descriptors may be closed
  /// @param tells moments at which there is a row, too: kTellStarts, ... (thread_counts.h). Rows of starts and
  /// switches have no counts of the events
  /// @param rows_bytes of rows that nobody has read yet; a power of two is made of it
  /// @return kPermission, or kUnavailable with what is missing. @cost 20 to 60 ms
  static Result<std::unique_ptr<ThreadCountsBpf>> Create(std::span<const OnCpus> events, unsigned tells = 0,
                                                         uint32_t rows_bytes = kThreadRowsBytes);
  virtual ~ThreadCountsBpf() = default;

  /// Follows a child that waits to be let go, from its exec on, and what it starts. The CPU time of its first thread
  /// is that since it was let go.
  virtual Status FollowFromExec(pid_t pid) = 0;
  /// Follows the threads of a process, and what they start from now on.
  virtual Status FollowRunning(pid_t pid) = 0;
  /// From now on there is a row of the thread each time that the event has occurred as often as its period says.
  /// @param event descriptor of perf's, of followed threads; the kernel keeps it, it may be closed
  virtual Status SampleBy(int event) = 0;
  /// From now on there is a row of the thread each time that it enters the function. Needs kTellSelf.
  /// @param file that has the function, in whichever processes it is mapped
  virtual Status SampleAt(const std::string& file, const char* function) = 0;
  /// Rows of samples, and threads that the kernel has freed since the last call, which it does some time after they
  /// were waited for; then those that live, if wanted.
  virtual Status Read(bool with_living, const Visit& visit) = 0;
  /// Those that began to end, and whose freeing was not told yet.
  virtual void TakeExiting(const Visit& visit) = 0;
  virtual thread_totals totals() const = 0;
};

}  // namespace attune::kernel
