#pragma once
/// Time limit of instances: a thread that looks at what workers run. It is there only for runs with a limit, and
/// instances need no clock: a worker says which one it runs, and the watchdog sees that it stays the same.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "attune/flow/kernel.h"
#include "base/thread_safety.h"

namespace attune::flow::detail {

/// An instance of a kernel.
struct InstanceId {
  int kernel = 0;
  int64_t age = 0;
  int64_t index[kMaxRank] = {};
};

/// Cell of a worker: the instance that it runs. @thread written by the worker, read by the watchdog
class Running {
 public:
  /// A range begins. @return where the range function stores the number of each instance before it runs
  std::atomic<int64_t>* Begin(int kernel, const KernelAge& instances, int64_t first);
  void End() { ranges_.fetch_add(1, std::memory_order_release); }

  /// A value that is the same as long as the same instance runs; range 0: none.
  struct Look {
    uint64_t range = 0;
    int64_t instance = 0;
    bool operator==(const Look&) const = default;
  };
  Look Now() const;
  /// @pre Now() has just said that one runs; another one may run meanwhile
  InstanceId Id() const;

 private:
  std::atomic<uint64_t> ranges_ = 0;  ///< odd: a range runs
  std::atomic<int64_t> instance_ = 0;
  std::atomic<int> kernel_ = 0;
  std::atomic<int64_t> age_ = 0;
  std::array<std::atomic<int64_t>, kMaxRank> low_ = {};
  std::array<std::atomic<int64_t>, kMaxRank> count_ = {};
};

/// Recognises an instance that runs too long. Time is counted in looks, and a look counts for two periods at most: what
/// a stopped process or a machine that sleeps does not do is not put down to an instance. @thread one at a time
class Patience {
 public:
  explicit Patience(int64_t limit_ns, int64_t period_ns) : limit_ns_(limit_ns), period_ns_(period_ns) {}
  /// All cells are looked at now. @param cells nullptr: a worker that is not there
  /// @return the number of the cell whose instance is the first one beyond the limit; -1: there is none
  int Check(const std::vector<const Running*>& cells, int64_t now_ns);

 private:
  struct Seen {
    Running::Look look;
    int64_t since_ns = 0;
  };
  int64_t limit_ns_;
  int64_t period_ns_;
  int64_t last_ns_ = -1;
  int64_t clock_ns_ = 0;
  std::vector<Seen> seen_;
};

class Watchdog {
 public:
  /// @param cells what workers there are now
  /// @param late called once, by the watchdog's thread
  Watchdog(int64_t limit_ns, std::function<std::vector<const Running*>()> cells,
           std::function<void(const InstanceId&)> late);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// @thread not its own
  void Stop();

 private:
  void Loop();

  const int64_t limit_ns_;
  const int64_t period_ns_;
  std::function<std::vector<const Running*>()> cells_;
  std::function<void(const InstanceId&)> late_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// "2 s", "40 ms", as --kernel-timeout takes it.
std::string DurationText(int64_t ns);

}  // namespace attune::flow::detail
