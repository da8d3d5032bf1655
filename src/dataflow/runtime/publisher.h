#pragma once
/// Costs of a run for attune, ten times a second, where the program runs under it: counters of attune/work.h, and by
/// the same names what there is beyond: ages, ranges, and how kernels depend on each other.

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
  /// @param costs called by the publisher's thread  @return nullptr: nobody watches
  static std::unique_ptr<Publisher> Start(std::function<Costs()> costs);
  ~Publisher();  ///< @pre Stop()
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  /// After the last sums. Idempotent. @thread not its own
  void Stop();

 private:
  struct Kernel;
  struct Run;
  explicit Publisher(std::function<Costs()> costs);
  void Loop();
  void Publish();

  std::function<Costs()> costs_;
  std::vector<Kernel> kernels_;
  std::unique_ptr<Run> run_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::flow::detail
