#pragma once
/// The sensors of a session.

#include <memory>

#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/sampling/sensing.h"

namespace attune::session {

class SamplingComponent : public Component {
 public:
  SamplingComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                    FollowingComponent& following)
      : context_(context), recording_(recording), facts_(facts), following_(following) {}

  Status Start() override;
  bool IsChosen() const override { return true; }
  void Stop() override { sensing_->Stop(); }
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;

  /// @pre Start() @thread any
  Sensing& sensing() { return *sensing_; }
  /// Somebody looks at the values as they come, or nobody does. @pre Start() @thread any
  void SetWatched(bool watched);

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  std::unique_ptr<Sensing> sensing_;
};

}  // namespace attune::session
