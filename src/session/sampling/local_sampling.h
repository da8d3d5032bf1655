#pragma once
/// Sampling in this process, for who looks at the machine for a moment: no session process, no recording, no page.

#include <memory>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/sink.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/sampling/sensing.h"
#include "session/sampling/sensor_choice.h"

namespace attune::session {

/// The same sampler, registry and pipeline that a session has, in front of one sink.
class LocalSampling {
 public:
  /// Samples from now on. @param sink must outlive this; gets everything on the pipeline's thread
  /// @param sensors what is not available here is left out; info rows `skipped.NAME` say why
  static Result<std::unique_ptr<LocalSampling>> Start(const HostRoot& host, const std::vector<SensorChoice>& sensors,
                                                      model::Sink& sink);
  ~LocalSampling();
  LocalSampling(const LocalSampling&) = delete;
  LocalSampling& operator=(const LocalSampling&) = delete;

  /// Everything that was sampled has reached the sink when this returns. Final.
  void Stop();

 private:
  LocalSampling(const HostRoot& host, model::Sink& sink);

  Pipeline pipeline_;
  Registry registry_;
  ProcessTable processes_;
  Sensing sensing_;
};

/// Sensors for looking at status and health: all that alarms judge and status shows, each at an interval that suits a
/// look of a few seconds; also those that are by request and only cost something where a program is measured.
std::vector<SensorChoice> StatusSensors();

}  // namespace attune::session
