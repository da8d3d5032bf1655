#pragma once
/// The thread between those that sample and the callback.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "session/sampling/latch_group.h"

namespace attune::session {

/// Hands what latch groups have sampled to the callback: for lanes with real-time priority on a thread that has none,
/// and may wait for locks and memory.
class SampleDelivery {
 public:
  explicit SampleDelivery(ChunkCallback callback);
  ~SampleDelivery();

  /// Nothing reaches the callback any more. @thread any but a lane's
  void Stop();

  /// @thread any but a lane's
  void Add(LatchGroup* group);
  /// Delivers what the group still has, which no lane has any more. @thread any but a lane's
  void Remove(LatchGroup* group);
  /// Something was handed over: the thread shall deliver it. Waits for nothing. @thread any
  void Notify();
  /// Returns when what was handed over is delivered. @thread any without real-time priority
  void Drain();

 private:
  void Run();
  void DeliverLocked() ATTUNE_REQUIRES(mutex_);

  const ChunkCallback callback_;
  Mutex mutex_;
  std::vector<LatchGroup*> groups_ ATTUNE_GUARDED_BY(mutex_);
  bool stopped_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::atomic<uint32_t> news_{0};  // the futex: changes with each Notify
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace attune::session
