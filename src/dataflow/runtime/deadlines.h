#pragma once
/// The thread that runs the alternates of instances which have no result when their deadline comes. It is there only
/// for graphs with deadlines.

#include <atomic>
#include <cstdint>
#include <functional>
#include <queue>
#include <thread>
#include <vector>

#include "base/thread_safety.h"

namespace attune::flow::detail {

class RunBase;
class Workers;

class Deadlines {
 public:
  Deadlines(RunBase* engine, Workers* workers);
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  /// Looks after instances of a kernel and age that can start now. @param expires_ns CLOCK_MONOTONIC
  void Watch(int kernel, int64_t age, int64_t serial, int64_t expires_ns);
  /// Ends the thread, after the alternate that it runs.
  void Stop();

 private:
  struct Entry {
    int64_t expires_ns;
    int kernel;
    int64_t age;
    int64_t serial;
    bool operator>(const Entry& other) const { return expires_ns > other.expires_ns; }
  };
  void Loop();
  void Expire(const Entry& entry);

  RunBase* engine_;
  Workers* workers_;
  Mutex mutex_;
  CondVar changed_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_ ATTUNE_GUARDED_BY(mutex_);
  bool stop_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::flow::detail
