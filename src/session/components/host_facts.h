#pragma once
/// Facts of the host and the run in the recording, the registry of elements and the table of processes.

#include <memory>

#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"

namespace attune::session {

class HostFactsComponent : public Component {
 public:
  HostFactsComponent(SessionContext& context, RecordingComponent& recording)
      : context_(context), recording_(recording) {}

  Status Start() override;
  void Describe(nlohmann::json& status) const override;
  /// A reading of the clocks, and the usage of the processes.
  void EverySecond() override;

  /// @pre Start()
  Registry& registry() { return *registry_; }
  ProcessTable& processes() { return *processes_; }

 private:
  void PublishClock();

  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<ProcessTable> processes_;
};

}  // namespace attune::session
