#pragma once
/// Account of how the kernel's scheduler treated the threads that a watcher follows.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/tables/state_time.h"

namespace attune::model {

/// Time in one state since the reading before.
struct StateSum {
  TimeState state = TimeState::kRunning;
  int64_t waker_tid = 0;  ///< thread that ended these sleeps; 0: not known, or not one
  int64_t ns = 0;
  int64_t count = 0;
  int64_t alone_ns = 0;      ///< as in StateTime
  int64_t idle_cpus_ns = 0;  ///< as in StateTime
  int64_t end_ns = 0;        ///< CLOCK_MONOTONIC: alone_ns is one stretch, which ended then; 0: there is none
};

/// Owner of the sums. All 0: the machine.
struct ScheduledObject {
  int64_t pid = 0;
  int64_t tid = 0;
  int64_t cpu = kAbsent;  ///< kAbsent: a thread, or the machine
};

/// @thread one at a time
class ScheduleAccount {
 public:
  virtual ~ScheduleAccount() = default;

  using Visit = std::function<void(const ScheduledObject&, std::span<const StateSum>)>;

  /// How it is known, for the recording and the report: "ebpf".
  virtual std::string_view Method() const = 0;
  /// Hands over what was added since the reading before; of a thread that ended once. A stretch in which a thread was
  /// alone has a sum of its own: running without time, and `waker_tid` is the thread that could run too at its end, 0
  /// if the thread itself slept or ended. Short ones are in the sum of the thread's running. @cost 0.5 us a thread
  virtual Status Read(const Visit& visit) = 0;
  /// Costs nothing more. No Read() comes after this.
  virtual void Stop() = 0;
  /// Threads that could not be accounted for.
  virtual uint64_t LeftOut() const = 0;
};

}  // namespace attune::model
