#pragma once
/// Costs of a run for attune, ten times a second, where the program runs under it: counters of attune/work.h, and by
/// the same names the ages, the instances a range and whom a kernel runs behind.

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
  /// @param costs called by the publisher's thread  @return nullptr: nobody watches
  static std::unique_ptr<Publisher> Start(std::function<std::vector<KernelCost>()> costs);
  ~Publisher();  ///< @pre Stop()
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  /// After the last sums. Idempotent. @thread not its own
  void Stop();

 private:
  struct Kernel;
  explicit Publisher(std::function<std::vector<KernelCost>()> costs);
  void Loop();
  void Publish();

  std::function<std::vector<KernelCost>()> costs_;
  std::vector<Kernel> kernels_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::flow::detail
