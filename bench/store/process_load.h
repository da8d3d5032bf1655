#pragma once
/// Work for the machine whose counters are recorded.

#include <atomic>
#include <thread>

namespace attune::bench {

/// Starts and ends processes, one after the other, for as long as it lives.
class ProcessLoad {
 public:
  ProcessLoad() : thread_([this] { Run(); }) {}
  ~ProcessLoad() {
    stop_ = true;
    thread_.join();
  }
  ProcessLoad(const ProcessLoad&) = delete;
  ProcessLoad& operator=(const ProcessLoad&) = delete;
  uint64_t started() const { return started_; }

 private:
  void Run();

  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> started_ = 0;
  std::thread thread_;
};

}  // namespace attune::bench
