#pragma once
/// Components that no other part refers to: a source file each, which has all of it, and a row here.

#include <memory>

#include "session/components/alarms.h"
#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/influence.h"
#include "session/components/probes.h"
#include "session/components/recording.h"
#include "session/core/component.h"

namespace attune::session {

std::unique_ptr<Component> MakeFindings(SessionContext& context, RecordingComponent& recording);
std::unique_ptr<Component> MakeGraphs(SessionContext& context, RecordingComponent& recording);
std::unique_ptr<Component> MakeMachineBoard(AlarmComponent& alarms, ProbeComponent& probes);
std::unique_ptr<Component> MakeModules(SessionContext& context, RecordingComponent& recording,
                                       HostFactsComponent& facts);
std::unique_ptr<Component> MakeProfile(SessionContext& context, RecordingComponent& recording,
                                       HostFactsComponent& facts, FollowingComponent& following);
std::unique_ptr<Component> MakeSinks(SessionContext& context, RecordingComponent& recording);
std::unique_ptr<Component> MakeThreadCounts(SessionContext& context, RecordingComponent& recording,
                                            HostFactsComponent& facts);
std::unique_ptr<Component> MakeTimeAccount(SessionContext& context, RecordingComponent& recording,
                                           HostFactsComponent& facts, FollowingComponent& following);
std::unique_ptr<Component> MakeTuner(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                                     ProbeComponent& probes);

}  // namespace attune::session
