#pragma once
/// The alarms of a session: the rules that judge what it publishes.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "session/components/recording.h"
#include "session/core/alarm_watch.h"
#include "session/core/component.h"

namespace attune::session {

class AlarmComponent : public Component {
 public:
  AlarmComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}

  Status Start() override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;

  /// Every rule as of now. @pre Start()
  std::vector<analysis::AlarmStatus> Now() const { return watch_->Status(); }

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<AlarmWatch> watch_;
  std::optional<InPipeline> in_pipeline_;
};

}  // namespace attune::session
