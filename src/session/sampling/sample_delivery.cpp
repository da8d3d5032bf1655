#include "session/sampling/sample_delivery.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/futex.h"

namespace attune::session {

SampleDelivery::SampleDelivery(ChunkCallback callback) : callback_(std::move(callback)), thread_([this] { Run(); }) {
  ::pthread_setname_np(thread_.native_handle(), "attune-deliver");
}

SampleDelivery::~SampleDelivery() { Stop(); }

void SampleDelivery::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  Notify();
  thread_.join();
  const MutexLock lock(mutex_);
  stopped_ = true;
}

void SampleDelivery::Add(LatchGroup* group) {
  const MutexLock lock(mutex_);
  groups_.push_back(group);
}

void SampleDelivery::Remove(LatchGroup* group) {
  const MutexLock lock(mutex_);
  DeliverLocked();
  group->HandOver(MonotonicNs());  // rows that found no empty chunk before
  DeliverLocked();
  std::erase(groups_, group);
}

void SampleDelivery::Notify() {
  news_.fetch_add(1, std::memory_order_release);
  FutexWake(news_);
}

void SampleDelivery::Drain() {
  const MutexLock lock(mutex_);
  DeliverLocked();
}

void SampleDelivery::DeliverLocked() {
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

void SampleDelivery::Run() {
  while (true) {
    const uint32_t seen = news_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    Drain();
    FutexWait(news_, seen, /*deadline_ns=*/0);
  }
}

}  // namespace attune::session
