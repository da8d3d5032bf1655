#include "sink/influxdb/sender.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace attune::influxdb {

Sender::Sender(std::unique_ptr<Receiver> receiver, SenderOptions options)
    : receiver_(std::move(receiver)), options_(options), thread_([this] { Run(); }) {}

Sender::~Sender() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyAll();
  thread_.join();
}

void Sender::Add(Lines batch) {
  if (batch.text.empty()) return;
  {
    MutexLock lock(mutex_);
    room_.WaitFor(lock, std::chrono::nanoseconds(options_.longest_wait_ns), [&]() ATTUNE_REQUIRES(mutex_) {
      return queued_bytes_ == 0 || queued_bytes_ + batch.text.size() <= options_.max_queued_bytes;
    });
    queued_bytes_ += batch.text.size();
    pending_ += batch.values;
    queue_.push_back(std::move(batch));
    // The oldest that waits; not the one that is on its way, half of which may be there already.
    while (queued_bytes_ > options_.max_queued_bytes && queue_.size() > 1) {
      dropped_ += queue_.front().values;
      Forget(queue_.front());
      queue_.pop_front();
    }
  }
  work_.NotifyAll();
}

void Sender::Flush(int64_t limit_ns) {
  MutexLock lock(mutex_);
  ++flushing_;
  work_.NotifyAll();
  idle_.WaitFor(lock, std::chrono::nanoseconds(limit_ns),
                [&]() ATTUNE_REQUIRES(mutex_) { return queue_.empty() && !busy_; });
  --flushing_;
}

Sender::State Sender::Now() const {
  const MutexLock lock(mutex_);
  return {pending_, dropped_, message_};
}

void Sender::Forget(const Lines& batch) {
  queued_bytes_ -= batch.text.size();
  pending_ -= batch.values;
}

void Sender::Run() {
  MutexLock lock(mutex_);
  while (true) {
    work_.Wait(lock, [&]() ATTUNE_REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const Lines batch = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    for (int64_t pause_ns = 0; !stopping_; Pause(lock, pause_ns)) {
      lock.Unlock();
      Delivered delivered = receiver_->Deliver(batch.text);
      lock.Lock();
      message_ = std::move(delivered.message);
      if (delivered.outcome == Outcome::kRefused) dropped_ += batch.values;
      if (delivered.outcome != Outcome::kTryAgain) break;
    }
    busy_ = false;
    if (stopping_) return;
    Forget(batch);
    room_.NotifyAll();
    if (queue_.empty()) idle_.NotifyAll();
  }
}

/// After a failure: the longer the more there were.
void Sender::Pause(MutexLock& lock, int64_t& pause_ns) {
  pause_ns = std::clamp(pause_ns * 2, options_.first_pause_ns, options_.longest_pause_ns);
  const auto begin = std::chrono::steady_clock::now();
  const auto end = [&]() ATTUNE_REQUIRES(mutex_) {
    const int64_t length_ns = flushing_ > 0 ? std::min(pause_ns, options_.longest_last_pause_ns) : pause_ns;
    return begin + std::chrono::nanoseconds(length_ns);
  };
  // Somebody who begins to wait makes it shorter.
  while (!stopping_ && std::chrono::steady_clock::now() < end()) work_.WaitUntil(lock, end());
}

}  // namespace attune::influxdb
