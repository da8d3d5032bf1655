#pragma once
/// The table state_times: what the scheduler did with each observed thread (docs/tables.md).

#include <unordered_map>

#include "model/schedule.h"
#include "session/components/following.h"
#include "session/components/host_facts.h"
#include "session/components/recording.h"
#include "session/core/component.h"

namespace attune::session {

class TimeAccountComponent : public Component {
 public:
  TimeAccountComponent(SessionContext& context, RecordingComponent& recording, HostFactsComponent& facts,
                       FollowingComponent& following)
      : context_(context), recording_(recording), facts_(facts), following_(following) {}

  /// Without it everything else is observed all the same, and the recording says why there is none.
  Status Start() override;
  void Stop() override { EverySecond(); }
  void Totals(InfoRows& rows) override;
  void EverySecond() override;

 private:
  model::ElementId ElementOf(const model::ScheduledObject& object);

  SessionContext& context_;
  RecordingComponent& recording_;
  HostFactsComponent& facts_;
  FollowingComponent& following_;
  model::ScheduleAccount* account_ = nullptr;              ///< nullptr: there is none
  std::unordered_map<int64_t, model::ElementId> threads_;  ///< by tid: for wakers
};

}  // namespace attune::session
