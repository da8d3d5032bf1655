#include "session/host/components.h"

#include "session/components/alarms.h"
#include "session/components/findings.h"
#include "session/components/following.h"
#include "session/components/graphs.h"
#include "session/components/host_facts.h"
#include "session/components/influence.h"
#include "session/components/probes.h"
#include "session/components/profile.h"
#include "session/components/sampling.h"
#include "session/components/sinks.h"
#include "session/host/page.h"

namespace attune::session {

void AddComponents(SessionContext& context, SessionComponents& components) {
  ComponentList& all = components.all;
  // One row a component, behind those that it needs.
  auto& recording = all.Add<RecordingComponent>(context);
  all.Add<AlarmComponent>(context, recording);
  auto& facts = all.Add<HostFactsComponent>(context, recording);
  all.Add<SinkComponent>(context, recording);
  all.Add<GraphComponent>(context, recording);
  all.Add<FindingComponent>(context, recording);
  auto& following = all.Add<FollowingComponent>(context, recording, facts);
  auto& sampling = all.Add<SamplingComponent>(context, recording, facts, following);
  auto& influence = all.Add<InfluenceComponent>(context, following);
  all.Add<ProbeComponent>(context, recording, facts, influence);
  auto& profile = all.Add<ProfileComponent>(context, recording, facts);
  all.Add<RecordingSizeCheck>(recording);
  all.Add<PageComponent>(context, recording, sampling);
  auto& members = all.Add<MemberComponent>(context, all, recording, facts, following, sampling, profile);
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
