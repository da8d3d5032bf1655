#pragma once
/// The alarms of a session: the rules that judge what it publishes.

#include <memory>

#include "session/components/recording.h"
#include "session/core/alarm_watch.h"
#include "session/core/component.h"

namespace attune::session {

class AlarmComponent : public Component {
 public:
  AlarmComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}
  ~AlarmComponent() override;

  Status Start() override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<AlarmWatch> watch_;
};

}  // namespace attune::session
