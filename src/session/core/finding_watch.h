#pragma once
/// Finds what holds the programs back while they run, and writes it into the table `findings`.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "analysis/findings/finding_rows.h"
#include "analysis/findings/program_operators.h"
#include "base/thread_safety.h"
#include "model/sink.h"
#include "model/source.h"
#include "session/core/pipeline.h"

namespace attune::session {

/// A sink that keeps batches until its own thread takes them. Bounded: beyond kMaxQueuedRows events and samples are
/// left out (of the findings, never of the recording) and counted.
class FindingWatch : public model::Sink {
 public:
  static constexpr size_t kMaxQueuedRows = 2u << 20;
  static constexpr int64_t kIntervalNs = 500'000'000;
  /// Part of a CPU that judging takes at most; adding up comes on top.
  static constexpr int64_t kMostOfACpu = 50;  ///< 1/50

  /// @param source gives names  @param made_known called after rows were published of findings that are new
  FindingWatch(Pipeline& pipeline, model::Source& source, std::function<void()> made_known);
  ~FindingWatch() override { Finish(); }

  void Consume(const model::BatchPtr& batch) override;
  /// Judges once more, with everything that came. Further batches are ignored.
  void Finish();
  /// Rows that were left out. @thread any
  uint64_t LeftOut() const;

 private:
  void Run();
  void Judge(bool is_last);
  void NamePlaces(const std::vector<analysis::Finding>& findings);

  Pipeline& pipeline_;
  model::Source& source_;
  const std::function<void()> made_known_;

  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<model::BatchPtr> queue_ ATTUNE_GUARDED_BY(mutex_);
  std::set<model::StreamId> unwanted_ ATTUNE_GUARDED_BY(mutex_);
  size_t queued_rows_ ATTUNE_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ ATTUNE_GUARDED_BY(mutex_) = 0;
  bool has_sums_ ATTUNE_GUARDED_BY(mutex_) = false;  ///< rows of `sync` came, which are worth judging at once
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;

  // Of the thread.
  analysis::ProgramOperators program_;
  analysis::LiveFeed feed_;
  analysis::FindingRevisions revisions_;
  std::vector<model::Site> names_;
  std::set<model::ElementId> named_;
  std::thread thread_;
};

}  // namespace attune::session
