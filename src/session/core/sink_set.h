#pragma once
/// The sinks of a session that are plug-ins: begun with it or meanwhile (`attune ctl sink`), ended with it or before.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_safety.h"
#include "model/source.h"
#include "session/core/pipeline.h"
#include "sink/plugin_sink.h"

namespace attune::session {

/// @thread one at a time, except Totals()
class SinkSet {
 public:
  /// @param source what was published so far; it is before the sinks in the pipeline  @param folder where their
  ///        processes work  @param report told what a user should know
  SinkSet(Pipeline& pipeline, model::Source& source, std::string folder, sink::SinkReport report);
  ~SinkSet();
  SinkSet(const SinkSet&) = delete;
  SinkSet& operator=(const SinkSet&) = delete;

  /// One that has the same name is finished first. Errors: those of the sink; then the one before goes on.
  Status Start(const sink::SinkChoice& choice);
  /// Finishes one, or all (""). Errors: there is none of that name.
  Status Stop(const std::string& name);
  /// By name, over all of that name.
  std::map<std::string, sink::SinkTotals> Totals() const;
  /// The same as rows of the table info (model/info_keys.h); no sinks, no rows.
  std::vector<std::pair<std::string, std::string>> InfoRows() const;

 private:
  using Sinks = std::vector<std::unique_ptr<sink::PluginSink>>;
  void FinishAll(Sinks sinks);

  Pipeline& pipeline_;
  model::Source& source_;
  const std::string folder_;
  const sink::SinkReport report_;
  mutable Mutex mutex_;
  Sinks sinks_ ATTUNE_GUARDED_BY(mutex_);
  std::map<std::string, sink::SinkTotals> ended_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::session
