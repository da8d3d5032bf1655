#pragma once
/// Writes the synchronisation graph of a session (analysis/waits/sync_graph.h) into a folder, and once something was
/// sent the task graph (analysis/messages/task_graph.h), again and again while it runs and once when it ends: `--xml
/// FOLDER --every TIME`.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "analysis/messages/task_graph.h"
#include "analysis/timeline/hardware_view.h"
#include "analysis/waits/sync_graph.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "model/sink.h"
#include "model/source.h"

namespace attune::session {

/// What the command line asks for.
struct GraphChoice {
  std::string folder;  ///< absolute path; empty: no graph
  int64_t every_ns = 1'000'000'000;
  bool overwrite = false;
};

/// A sink that keeps batches until its own thread takes them. Bounded: beyond kMaxQueuedRows events are left out of the
/// graphs (never out of the recording), and counted.
class GraphWriter : public model::Sink {
 public:
  static constexpr size_t kMaxQueuedRows = 4u << 20;

  /// Makes the folder. @param source gives names; must outlive this
  /// Errors: kExists (hint --force): graphs of another run are there; what making folder and file says
  static Result<std::unique_ptr<GraphWriter>> Start(const GraphChoice& choice, model::Source& source);
  ~GraphWriter() override { static_cast<void>(Finish()); }

  void Consume(const model::BatchPtr& batch) override;
  /// Writes the last graph, of everything that came. @return the first error of all writes
  Status Finish();
  /// Graphs written, and rows left out. @thread any
  uint64_t Written() const;
  uint64_t LeftOut() const;

 private:
  GraphWriter(const GraphChoice& choice, model::Source& source) : choice_(choice), source_(source) {}

  /// A table that graphs are made of.
  struct Taken {
    model::Table table;
    void (GraphWriter::*take)(const model::Batch&);
    bool may_be_left_out = true;
  };
  static const std::array<Taken, 5> kTaken;
  /// nullptr: it is none.
  static const Taken* FindTaken(model::Table table);

  void TakeSync(const model::Batch& batch);
  void TakeTasks(const model::Batch& batch);
  void TakeClock(const model::Batch& batch);
  void TakeEvents(const model::Batch& batch);
  void Run();
  void Take(const std::deque<model::BatchPtr>& batches, bool last);
  Status WriteGraphs(bool is_last);
  Status Write(const std::string& name, const std::string& text) const;

  const GraphChoice choice_;
  model::Source& source_;

  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<model::BatchPtr> queue_ ATTUNE_GUARDED_BY(mutex_);
  size_t queued_rows_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t written_ ATTUNE_GUARDED_BY(mutex_) = 0;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;

  // Of the thread.
  analysis::SyncGraphBuilder builder_;
  analysis::TaskGraphBuilder tasks_;
  analysis::HardwareViewBuilder hardware_;
  analysis::EventOrder unsettled_;  ///< events that others may still come before
  Status status_;
  std::thread thread_;
};

}  // namespace attune::session
