#pragma once
/// Batches on their way from the pipeline to a thread of a sink's own.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "base/thread_safety.h"
#include "model/sink.h"

namespace attune::session {

/// Bounded: batches that may be left out are left out beyond so many rows, and counted.
class BatchQueue {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint8_t { kMayBeLeftOut, kNeeded, kUrgent };

  /// @param run what the thread does: it calls Take() until that says that there is no more. What it uses is made
  /// before this and destroyed after it
  BatchQueue(const char* thread_name, size_t most_rows, std::function<void()> run);
  ~BatchQueue() { Finish(); }
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// @thread any
  void Add(const model::BatchPtr& batch, Kind kind);
  /// Returns when the thread has ended, which takes what is there. Further batches are ignored. Idempotent.
  void Finish();
  /// Rows. @thread any
  uint64_t LeftOut() const;

  /// Takes all batches at `latest`, or once an urgent one came, but not before `earliest`. @thread the queue's own
  /// @return false: these are the last
  bool Take(Clock::time_point earliest, Clock::time_point latest, std::deque<model::BatchPtr>& batches);

 private:
  const size_t most_rows_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<model::BatchPtr> batches_ ATTUNE_GUARDED_BY(mutex_);
  size_t rows_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ ATTUNE_GUARDED_BY(mutex_) = 0;
  bool is_urgent_ ATTUNE_GUARDED_BY(mutex_) = false;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::session
