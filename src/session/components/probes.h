#pragma once
/// Records of the probes inside the programs: the collector of their rings, and the check of attune's influence.

#include <memory>

#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/probes/collector.h"
#include "session/probes/influence_check.h"

namespace attune::session {

class ProbeComponent : public Component {
 public:
  ProbeComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                 FollowingComponent& following)
      : context_(context), recording_(recording), facts_(facts), following_(following) {}

  /// Without rings everything else is observed all the same.
  Status Start() override;
  void Stop() override { collector_->Stop(); }
  void Totals(InfoRows& rows) override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;

 private:
  void ChooseInfluence();

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  std::unique_ptr<InfluenceCheck> influence_;  ///< nullptr: nothing is compared
  std::unique_ptr<Collector> collector_;
};

}  // namespace attune::session
