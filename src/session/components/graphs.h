#pragma once
/// The graphs that a session writes while it runs (docs/sync-graph.md, docs/task-graph.md).

#include <memory>

#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/probes/graph_writer.h"

namespace attune::session {

class GraphComponent : public Component {
 public:
  GraphComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}
  ~GraphComponent() override;

  Status Start() override;
  bool IsChosen() const override { return true; }
  /// The last graph has the names of the places.
  Phase StopPhase() const override { return Phase::kReading; }
  void Stop() override;

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<GraphWriter> graph_;  ///< nullptr: none is asked for
};

}  // namespace attune::session
