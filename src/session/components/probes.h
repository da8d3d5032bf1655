#pragma once
/// Records of the probes inside the programs: the collector of their rings.

#include <memory>

#include "session/components/host_facts.h"
#include "session/components/influence.h"
#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/probes/collector.h"
#include "session/tuning/ring_channel.h"

namespace attune::session {

class ProbeComponent : public Component {
 public:
  ProbeComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                 InfluenceComponent& influence)
      : context_(context), recording_(recording), facts_(facts), influence_(influence) {}

  /// Without rings everything else is observed all the same.
  Status Start() override;
  void Stop() override { collector_->Stop(); }
  void Totals(InfoRows& rows) override;
  std::vector<Verb> Verbs() override;
  void Describe(nlohmann::json& status) const override;

  /// @pre Start()
  Collector& collector() { return *collector_; }
  /// Rings of the programs that have a probe.
  RingChannel& rings() { return rings_; }

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  InfluenceComponent& influence_;
  RingChannel rings_;
  std::unique_ptr<Collector> collector_;
};

}  // namespace attune::session
