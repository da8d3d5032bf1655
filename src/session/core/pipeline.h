#pragma once
/// One queue from all producers to all sinks. Producers publish from any thread; one thread hands each batch to every
/// sink in the order of publication and gives it its sequence number.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_safety.h"
#include "model/schema.h"
#include "model/sink.h"

namespace attune::session {

class Pipeline {
 public:
  /// @param sinks must outlive the pipeline  @param max_queued_cells bound of the queue: beyond it, batches of samples
  ///        and events are dropped and counted (metadata never is)
  explicit Pipeline(std::vector<model::Sink*> sinks, size_t max_queued_cells = 64u << 20);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  enum class Hurry : bool { kNo, kYes };

  /// Never blocks on a sink. Batches without rows are ignored. @thread any
  /// @param hurry no: Wake() follows soon
  void Publish(model::Batch batch, Hurry hurry = Hurry::kYes);
  /// Hands on what was published without hurry.
  void Wake() { work_.NotifyOne(); }
  /// Returns when everything published before has reached the sinks. @thread any but a sink's
  void Drain();
  /// Changes the sinks between two batches, on the caller's thread: a sink that joins gets everything published from
  /// then on, and what is not consumed yet. @thread any but a sink's, one at a time
  void Exchange(const std::function<void(std::vector<model::Sink*>& sinks)>& change);
  /// Rows of samples and events that found the queue full, so far.
  uint64_t DroppedRows() const;

 private:
  using StreamKey = std::pair<model::Table, model::StreamId>;
  struct StreamState {
    uint64_t next_sequence = 0;
    uint64_t dropped = 0;  ///< rows dropped since the batch before
  };

  void Run();

  std::vector<model::Sink*> sinks_;  ///< used by the thread that set busy_ alone
  const size_t max_queued_cells_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar idle_;  ///< busy_ ended
  std::deque<model::BatchPtr> queue_ ATTUNE_GUARDED_BY(mutex_);
  std::map<StreamKey, StreamState> streams_ ATTUNE_GUARDED_BY(mutex_);
  size_t queued_cells_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_rows_ ATTUNE_GUARDED_BY(mutex_) = 0;
  bool busy_ ATTUNE_GUARDED_BY(mutex_) = false;  ///< somebody works with the sinks
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// Keeps a sink in a pipeline while this lives. @thread as Exchange()
class InPipeline {
 public:
  InPipeline(Pipeline& pipeline, model::Sink& sink) : pipeline_(pipeline), sink_(&sink) {
    pipeline_.Exchange([this](std::vector<model::Sink*>& sinks) { sinks.push_back(sink_); });
  }
  ~InPipeline() {
    pipeline_.Exchange([this](std::vector<model::Sink*>& sinks) { std::erase(sinks, sink_); });
  }
  InPipeline(const InPipeline&) = delete;
  InPipeline& operator=(const InPipeline&) = delete;

 private:
  Pipeline& pipeline_;
  model::Sink* const sink_;
};

}  // namespace attune::session
