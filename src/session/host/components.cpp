#include "session/host/components.h"

#include "session/components/alarms.h"
#include "session/components/factories.h"
#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/influence.h"
#include "session/components/sampling.h"

namespace attune::session {

void AddComponents(SessionContext& context, SessionComponents& components) {
  ComponentList& all = components.all;
  // One row a component, behind those that it needs.
  auto& recording = all.Add<RecordingComponent>(context);
  auto& alarms = all.Add<AlarmComponent>(context, recording);
  auto& facts = all.Add<HostFactsComponent>(context, recording);
  all.Add(MakeSinks(context, recording));
  all.Add(MakeGraphs(context, recording));
  all.Add(MakeFindings(context, recording));
  auto& following = all.Add<FollowingComponent>(context, recording, facts);
  auto& sampling = all.Add<SamplingComponent>(context, recording, facts, following);
  // Nothing before this uses the watcher, so that its start and those between are at the same time.
  all.Add(MakeTimeAccount(context, recording, facts, following));
  auto& influence = all.Add<InfluenceComponent>(context, following);
  auto& probes = all.Add<ProbeComponent>(context, recording, facts, influence);
  all.Add(MakeMachineBoard(alarms, probes));
  all.Add(MakeTuner(context, recording, facts, probes));
  all.Add(MakeProfile(context, recording, facts, following));
  all.Add(MakeThreadCounts(context, recording, facts));
  all.Add(MakeModules(context, recording, facts));
  all.Add<RecordingSizeCheck>(recording);
  all.Add(MakePage(context, recording, sampling));
  auto& members = all.Add<MemberComponent>(context, all, recording, facts, following, sampling);
  components.recording = &recording;
  components.following = &following;
  components.members = &members;
  for (const auto& component : all) context.verbs.Add(component->Verbs());
}

const VerbRegistry& SessionVerbs() {
  struct Unstarted {
    Unstarted() { AddComponents(context, components); }
    SessionContext context;
    SessionComponents components;
  };
  static const Unstarted unstarted;
  return unstarted.context.verbs;
}

}  // namespace attune::session
