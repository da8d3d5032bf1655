#include "session/core/pipeline.h"

#include <pthread.h>

namespace attune::session {
namespace {

size_t Cells(const model::Batch& batch) { return batch.rows * (batch.ints.size() + 4 * batch.texts.size()); }

bool MayDrop(const model::Batch& batch) { return model::IsTimed(batch.table); }

}  // namespace

Pipeline::Pipeline(std::vector<model::Sink*> sinks, size_t max_queued_cells)
    : sinks_(std::move(sinks)), max_queued_cells_(max_queued_cells), thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "attune-pipeline");
}

Pipeline::~Pipeline() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyOne();
  thread_.join();
}

void Pipeline::Publish(model::Batch batch, Hurry hurry) {
  if (batch.rows == 0) return;
  {
    const MutexLock lock(mutex_);
    StreamState& stream = streams_[{batch.table, batch.stream}];
    const size_t cells = Cells(batch);
    if (MayDrop(batch) && queued_cells_ + cells > max_queued_cells_) {
      stream.dropped += batch.rows;
      dropped_rows_ += batch.rows;
      return;
    }
    batch.sequence = stream.next_sequence++;
    batch.dropped_before += std::exchange(stream.dropped, 0);
    queued_cells_ += cells;
    queue_.push_back(std::make_shared<const model::Batch>(std::move(batch)));
  }
  if (hurry == Hurry::kYes) Wake();
}

void Pipeline::Drain() {
  MutexLock lock(mutex_);
  Wake();
  idle_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return queue_.empty() && !busy_; });
}

void Pipeline::Exchange(const std::function<void(std::vector<model::Sink*>& sinks)>& change) {
  {
    MutexLock lock(mutex_);
    idle_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return !busy_; });
    busy_ = true;
  }
  // Without the lock: whoever publishes must not wait for a sink.
  change(sinks_);
  {
    const MutexLock lock(mutex_);
    busy_ = false;
  }
  idle_.NotifyAll();
  work_.NotifyOne();
}

uint64_t Pipeline::DroppedRows() const {
  const MutexLock lock(mutex_);
  return dropped_rows_;
}

void Pipeline::Run() {
  MutexLock lock(mutex_);
  while (true) {
    work_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return !busy_ && (stopping_ || !queue_.empty()); });
    if (queue_.empty()) return;  // stopping, and nothing left to hand on
    const model::BatchPtr batch = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.Unlock();
    for (model::Sink* sink : sinks_) sink->Consume(batch);
    lock.Lock();
    queued_cells_ -= Cells(*batch);
    busy_ = false;
    idle_.NotifyAll();
  }
}

}  // namespace attune::session
