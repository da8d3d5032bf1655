#pragma once
/// Preparing sensors. One that somebody else described or wrote may take its time for it, or never return: it is
/// prepared on a thread of its own, so that neither the start nor the end of the observed program waits for it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_root.h"
#include "base/result.h"
#include "model/sensor.h"

namespace attune::session {

/// A sensor after its Prepare().
struct OpenedSensor {
  std::unique_ptr<model::Sensor> sensor;
  Result<std::vector<model::SignalSpec>> signals;
  int64_t cost_ns = 0;                                     ///< of one reading, measured; 0: there is nothing to read
  std::vector<std::pair<std::string, std::string>> notes;  ///< model::Sensor::Notes()
};

/// Prepares the sensor on the calling thread. @cost reads it some times to learn what that costs
OpenedSensor OpenSensor(const HostRoot& host, std::unique_ptr<model::Sensor> sensor);
/// Whether it may wait for something that attune does not know: it is described by a file, or a plug-in.
bool MayTakeLong(const model::Sensor& sensor);

/// The same on a thread of its own. That thread may outlive this object; then it keeps the sensor.
/// @thread one, besides that
class Opening {
 public:
  Opening(const HostRoot& host, std::unique_ptr<model::Sensor> sensor);
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  /// Waits for it. Once it has given something there is nothing more. @return nothing: not prepared by then
  std::optional<OpenedSensor> Take(int64_t deadline_ns);
  /// Calls this when it is prepared, at once if it is. @param on_ready not called once this object is gone
  void Notify(std::function<void()> on_ready);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace attune::session
