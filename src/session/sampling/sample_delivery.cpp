#include "session/sampling/sample_delivery.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/futex.h"

namespace attune::session {

Sampler::Delivery::Delivery(ChunkCallback callback) : callback_(std::move(callback)), thread_([this] { Run(); }) {
  ::pthread_setname_np(thread_.native_handle(), "attune-deliver");
}

Sampler::Delivery::~Delivery() { Stop(); }

void Sampler::Delivery::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  Notify();
  thread_.join();
  const MutexLock lock(mutex_);
  stopped_ = true;
}

void Sampler::Delivery::Add(LatchGroup* group) {
  const MutexLock lock(mutex_);
  groups_.push_back(group);
}

void Sampler::Delivery::Remove(LatchGroup* group) {
  const MutexLock lock(mutex_);
  DeliverLocked();
  group->HandOver(MonotonicNs());  // what found no empty chunk before
  DeliverLocked();
  std::erase(groups_, group);
}

void Sampler::Delivery::Notify() {
  news_.fetch_add(1, std::memory_order_release);
  FutexWake(news_);
}

void Sampler::Delivery::Drain() {
  const MutexLock lock(mutex_);
  DeliverLocked();
}

void Sampler::Delivery::DeliverLocked() {
  if (stopped_) return;
  std::optional<SampleChunk> last;
  for (LatchGroup* group : groups_) {
    group->Take([&](SampleChunk chunk) {
      if (last) {
        last->more = true;
        callback_(*std::move(last));
      }
      last = std::move(chunk);
    });
  }
  if (last) callback_(*std::move(last));
}

void Sampler::Delivery::Run() {
  while (true) {
    const uint32_t seen = news_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    Drain();
    FutexWait(news_, seen, /*deadline_ns=*/0);
  }
}

}  // namespace attune::session
