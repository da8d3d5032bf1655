#pragma once
/// The sinks of a session that are plug-ins (docs/sinks.md).

#include <memory>

#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/core/sink_set.h"

namespace attune::session {

class SinkComponent : public Component {
 public:
  SinkComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}

  Status Start() override;
  bool IsChosen() const override { return true; }
  Phase StopPhase() const override { return Phase::kWriting; }
  void Stop() override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;
  void EverySecond() override;

 private:
  Status Change(const VerbCall& call);
  uint64_t Drops() const;
  void PublishTotals();

  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<SinkSet> sinks_;
  uint64_t drops_told_ = 0;  ///< of all sinks, as the recording says
};

}  // namespace attune::session
