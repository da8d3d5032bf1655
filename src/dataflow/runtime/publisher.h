#pragma once
/// Costs of a run for attune, ten times a second, where the program runs under it: counters of attune/work.h, and by
/// the same names what there is beyond: ages, ranges, and how kernels depend on each other. As often the run looks
/// whether it is to change.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attune/flow/report.h"
#include "base/thread_safety.h"

namespace attune::flow::detail {

class Publisher {
 public:
  struct Costs {
    std::vector<KernelCost> kernels;
    int threads = 0;
    int64_t wall_ns = 0;  ///< since the start of the run
  };
  /// @param costs, look called by the publisher's thread, one after the other
  /// @pre somebody watches: attune_on()
  Publisher(std::function<Costs()> costs, std::function<void()> look);
  ~Publisher();  ///< @pre Stop()
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  /// After the last sums. Idempotent. @thread not its own
  void Stop();

 private:
  struct Kernel;
  struct Run;
  void Loop();
  void Publish();

  const std::function<Costs()> costs_;
  const std::function<void()> look_;
  std::vector<Kernel> kernels_;
  std::unique_ptr<Run> run_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::flow::detail
