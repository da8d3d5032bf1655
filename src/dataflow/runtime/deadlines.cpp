#include "dataflow/runtime/deadlines.h"

#include <chrono>

#include "dataflow/runtime/idle.h"
#include "dataflow/runtime/instances.h"
#include "dataflow/runtime/workers.h"

namespace attune::flow::detail {

Deadlines::Deadlines(RunBase* engine, Workers* workers)
    : engine_(engine), workers_(workers), thread_([this] { Loop(); }) {}

Deadlines::~Deadlines() { Stop(); }

void Deadlines::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Deadlines::Watch(int kernel, int64_t age, int64_t serial, int64_t expires_ns) {
  const MutexLock lock(mutex_);
  entries_.push({expires_ns, kernel, age, serial});
  changed_.NotifyAll();
}

void Deadlines::Loop() {
  for (;;) {
    Entry entry{};
    {
      MutexLock lock(mutex_);
      for (;;) {
        if (stop_) return;
        if (entries_.empty()) {
          const Idle idle;
          changed_.Wait(lock);
          continue;
        }
        entry = entries_.top();
        const int64_t left = entry.expires_ns - MonotonicNow();
        if (left <= 0) break;
        const Idle idle;
        changed_.WaitFor(lock, std::chrono::nanoseconds(left));
      }
      entries_.pop();
    }
    Expire(entry);
  }
}

void Deadlines::Expire(const Entry& entry) {
  Instances* instances = engine_->Pin(entry.kernel, entry.age, entry.serial);
  if (instances == nullptr) return;
  int64_t results = 0;
  for (int64_t i = 0; i < instances->total && !engine_->stopping(); ++i) {
    uint8_t undecided = 0;
    if (!instances->decided[i].compare_exchange_strong(undecided, 2, std::memory_order_acq_rel)) continue;
    engine_->CountMissed(entry.kernel);
    results += workers_->RunAlternates({instances, i, i + 1});
  }
  if (results > 0 && !engine_->stopping()) engine_->DoneWithDeadline(instances, results, 0);
  engine_->Unpin(instances);
}

}  // namespace attune::flow::detail
