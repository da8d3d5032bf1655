#pragma once
/// The CPU samples of a session's programs (docs/profile.md).

#include <memory>

#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/recording.h"
#include "session/core/component.h"

namespace attune::session {

class Profiling;

class ProfileComponent : public Component {
 public:
  ProfileComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                   FollowingComponent& following);
  ~ProfileComponent() override;

  /// Without samples everything else is observed all the same, and the recording says that they are missing.
  Status Start() override;
  void Stop() override;

  /// A child that waits to become the program. Nothing happens where no samples are taken.
  void FollowFromExec(pid_t pid);
  /// A process that runs already.
  void FollowRunning(pid_t pid);

 private:
  void Take(const Status& followed);

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  std::unique_ptr<Profiling> profiling_;  ///< nullptr: no samples are taken
};

}  // namespace attune::session
