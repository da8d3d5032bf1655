#pragma once
/// What holds the programs back, as rows of the table `findings` while they run (docs/findings.md).

#include <memory>

#include "session/components/recording.h"
#include "session/core/component.h"
#include "session/core/finding_watch.h"

namespace attune::session {

class FindingComponent : public Component {
 public:
  FindingComponent(SessionContext& context, RecordingComponent& recording) : context_(context), recording_(recording) {}
  ~FindingComponent() override;

  Status Start() override;
  /// It judges once more what all producers delivered.
  Phase StopPhase() const override { return Phase::kReading; }
  void Stop() override;

 private:
  SessionContext& context_;
  RecordingComponent& recording_;
  std::unique_ptr<FindingWatch> watch_;  ///< nullptr: there is no program
};

}  // namespace attune::session
