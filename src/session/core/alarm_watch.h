#pragma once
/// Judges what a session samples while it runs.

#include <string>
#include <vector>

#include "analysis/alarms/alarms.h"
#include "base/thread_safety.h"
#include "model/sink.h"
#include "session/core/pipeline.h"

namespace attune::session {

/// A sink of the pipeline that publishes what it raises and clears into the same pipeline, behind what it saw.
class AlarmWatch : public model::Sink {
 public:
  /// @param pipeline must outlive this as a place to publish to; it may hand out batches to the very end
  AlarmWatch(Pipeline& pipeline, const analysis::AlarmSettings& settings);

  void Consume(const model::BatchPtr& batch) override;
  /// Lays more settings over those that there are, and publishes what holds now. @thread any
  void Set(const analysis::AlarmSettings& more);
  /// Every rule as of now. @thread any
  std::vector<analysis::AlarmStatus> Status() const;
  /// How many are raised, "warning" and "critical" together. @thread any
  size_t Raised() const;

 private:
  void PublishRules();

  Pipeline& pipeline_;
  mutable Mutex mutex_;
  analysis::AlarmSettings settings_ ATTUNE_GUARDED_BY(mutex_);
  analysis::AlarmEvaluator evaluator_ ATTUNE_GUARDED_BY(mutex_);
  analysis::LiveFeed feed_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::session
