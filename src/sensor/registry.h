#pragma once
/// The one list of sensors.

#include <memory>
#include <string_view>
#include <vector>

#include "model/sensor.h"
#include "sensor/self/self.h"

namespace attune::sensor {

/// One of each, not prepared. @param meter where the sampler leaves its own cost (nullptr: nothing samples here)
std::vector<std::unique_ptr<model::Sensor>> MakeAllSensors(std::shared_ptr<const SelfMeter> meter = nullptr);

/// The sensor of that name; else an error with the nearest names.
Result<std::unique_ptr<model::Sensor>> MakeSensor(std::string_view name,
                                                  std::shared_ptr<const SelfMeter> meter = nullptr);

}  // namespace attune::sensor
