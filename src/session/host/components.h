#pragma once
/// The list of a session's components.

#include <memory>

#include "session/components/members.h"
#include "session/components/recording.h"
#include "session/components/sampling.h"
#include "session/components/session_context.h"
#include "session/core/component.h"
#include "session/core/verb.h"

namespace attune::session {

/// The list, and those of it that the main loop knows.
struct SessionComponents {
  ComponentList all;
  RecordingComponent* recording = nullptr;
  FollowingComponent* following = nullptr;
  MemberComponent* members = nullptr;
};

/// The page: host/page.cpp, since it needs the server.
std::unique_ptr<Component> MakePage(SessionContext& context, RecordingComponent& recording,
                                    SamplingComponent& sampling);

/// Makes the components, and registers their verbs. @param context,components outlive the components that refer to them
void AddComponents(SessionContext& context, SessionComponents& components);

/// The verbs of every session, for those who have none here: the parser of `attune ctl`, its help and completion. To be
/// parsed and read only.
const VerbRegistry& SessionVerbs();

}  // namespace attune::session
