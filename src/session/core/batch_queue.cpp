#include "session/core/batch_queue.h"

#include <pthread.h>

#include <utility>

namespace attune::session {

BatchQueue::BatchQueue(const char* thread_name, size_t most_rows, std::function<void()> run)
    : most_rows_(most_rows), thread_(std::move(run)) {
  pthread_setname_np(thread_.native_handle(), thread_name);
}

void BatchQueue::Add(const model::BatchPtr& batch, Kind kind) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    if (kind == Kind::kMayBeLeftOut && rows_ + batch->rows > most_rows_) {
      left_out_ += batch->rows;
      return;
    }
    rows_ += batch->rows;
    batches_.push_back(batch);
    is_urgent_ = is_urgent_ || kind == Kind::kUrgent;
  }
  if (kind == Kind::kUrgent) wake_.NotifyOne();
}

void BatchQueue::Finish() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

uint64_t BatchQueue::LeftOut() const {
  const MutexLock lock(mutex_);
  return left_out_;
}

bool BatchQueue::Take(Clock::time_point earliest, Clock::time_point latest, std::deque<model::BatchPtr>& batches) {
  MutexLock lock(mutex_);
  wake_.WaitUntil(lock, latest, [this]() ATTUNE_REQUIRES(mutex_) { return stopping_ || is_urgent_; });
  // Urgent ones of all programs come one after the other: what follows within the moment is taken with them.
  wake_.WaitUntil(lock, earliest, [this]() ATTUNE_REQUIRES(mutex_) { return stopping_; });
  is_urgent_ = false;
  rows_ = 0;
  batches = std::exchange(batches_, {});
  return !stopping_;
}

}  // namespace attune::session
