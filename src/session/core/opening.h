#pragma once
/// Preparing sensors. One that somebody else described or wrote may take its time for it, or never return: it is
/// prepared on a thread of its own, so that neither the start nor the end of the observed program waits for it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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
  std::optional<int64_t> cost_ns;  ///< cost of one reading, measured; 0: there is nothing to read; nothing: as it was
  std::vector<std::pair<std::string, std::string>> notes;  ///< model::Sensor::Notes()
};

using KnownSignals = std::optional<std::vector<model::SignalSpec>>;

/// Prepares the sensor on the calling thread.
/// @param known where the sensor has these signals, what a reading costs is known
/// @cost else it is read some times to learn that
OpenedSensor OpenSensor(const HostRoot& host, std::unique_ptr<model::Sensor> sensor, const KnownSignals& known = {});
/// Whether it may wait for something that attune does not know: it is described by a file, or a plug-in.
bool MayTakeLong(const model::Sensor& sensor);

/// The same on a thread of its own. That thread may outlive this object; then it keeps the sensor, and a plug-in is
/// ended and reports nothing any more.
/// @thread one, besides that
class Opening {
 public:
  Opening(const HostRoot& host, std::unique_ptr<model::Sensor> sensor, KnownSignals known = {});
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  /// Waits for it. Once it has given something there is nothing more. @return nothing: not prepared by then
  std::optional<OpenedSensor> Take(int64_t deadline_ns);
  /// Calls this when it is prepared, at once if it is. @param on_ready not called once this object is gone
  void Notify(std::function<void()> on_ready);
  /// Gives up what Take() has not returned yet: a plug-in is ended, anything else is waited for.
  /// @return whether its thread has ended by then
  bool Cancel(int64_t deadline_ns);

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace attune::session
