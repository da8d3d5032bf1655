#pragma once
/// The page of a session (docs/live.md). What people at the page ask for goes through the same verbs as everybody
/// else's commands.

#include <memory>
#include <string>

#include "live/server.h"
#include "session/components/recording.h"
#include "session/components/sampling.h"
#include "session/core/component.h"

namespace attune::session {

class PageComponent : public Component {
 public:
  PageComponent(SessionContext& context, RecordingComponent& recording, SamplingComponent& sampling)
      : context_(context), recording_(recording), sampling_(sampling) {}

  Status Start() override;
  bool IsChosen() const override { return true; }
  /// It shows what is published to the last.
  Phase StopPhase() const override { return Phase::kReading; }
  void Stop() override { server_.reset(); }

 private:
  Status Steer(const live::ControlRequest& request) const;
  Status Do(std::string_view verb, std::vector<Value> values, int64_t t_ns = model::kAbsent) const;

  SessionContext& context_;
  RecordingComponent& recording_;
  SamplingComponent& sampling_;
  std::unique_ptr<live::Server> server_;  ///< nullptr: none is asked for
};

}  // namespace attune::session
