#pragma once
/// The one list of sensors.

#include <memory>
#include <string_view>
#include <vector>

#include "model/sensor.h"
#include "sensor/found_sensors.h"
#include "sensor/plugin/plugin_sensor.h"
#include "sensor/self/self.h"
#include "sensor/thread/thread.h"

namespace attune::sensor {

/// Data of the session for sensors that observe it and its program. Without it they are unavailable.
struct SensorContext {
  std::shared_ptr<const SelfMeter> meter;  ///< receives the sampler's own cost
  ObservedPids observed;
  PluginReport report;  ///< told what happens to plug-ins
};
/// As if this process was sampled by itself: for those who only show what sensors would deliver.
SensorContext ShownContext();

/// One of each, not prepared: those that attune has, and those that others added. A file that cannot be used is there
/// too; its Prepare() says why.
std::vector<std::unique_ptr<model::Sensor>> MakeAllSensors(const SensorContext& context = {},
                                                           const std::vector<std::string>& folders = SensorFolders());

/// The sensor that stands behind -s (SplitSensorName()): by its name, or by its file; else an error with the nearest
/// names.
Result<std::unique_ptr<model::Sensor>> MakeSensor(std::string_view wanted, const SensorContext& context = {},
                                                  const std::vector<std::string>& folders = SensorFolders());

/// Stands for a sensor that cannot be made, so that lists show it. @param why what its Prepare() says
std::unique_ptr<model::Sensor> MakeUnusable(std::string name, std::string file, Error why);

}  // namespace attune::sensor
