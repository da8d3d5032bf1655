#include "sensor/registry.h"

#include <fmt/format.h>

#include "base/units.h"
#include "sensor/block/block.h"
#include "sensor/cpu/cpu.h"
#include "sensor/hwmon/hwmon.h"
#include "sensor/loadavg/loadavg.h"
#include "sensor/memory/memory.h"
#include "sensor/network/network.h"
#include "sensor/pressure/pressure.h"
#include "sensor/storage/storage.h"
#include "sensor/vmstat/vmstat.h"

namespace attune::sensor {

std::vector<std::unique_ptr<model::Sensor>> MakeAllSensors(std::shared_ptr<const SelfMeter> meter) {
  std::vector<std::unique_ptr<model::Sensor>> sensors;
  sensors.push_back(std::make_unique<CpuSensor>());
  sensors.push_back(std::make_unique<VmstatSensor>());
  sensors.push_back(std::make_unique<MemorySensor>());
  sensors.push_back(std::make_unique<LoadavgSensor>());
  sensors.push_back(std::make_unique<PressureSensor>());
  sensors.push_back(std::make_unique<NetworkSensor>());
  sensors.push_back(std::make_unique<BlockSensor>());
  sensors.push_back(std::make_unique<StorageSensor>());
  sensors.push_back(std::make_unique<HwmonSensor>());
  sensors.push_back(std::make_unique<SelfSensor>(std::move(meter)));
  return sensors;
}

Result<std::unique_ptr<model::Sensor>> MakeSensor(std::string_view name, std::shared_ptr<const SelfMeter> meter) {
  std::vector<std::string> names;
  for (std::unique_ptr<model::Sensor>& sensor : MakeAllSensors(std::move(meter))) {
    if (sensor->Info().name == name) return std::move(sensor);
    names.emplace_back(sensor->Info().name);
  }
  std::string hint = DidYouMean(name, names);
  if (!hint.empty()) hint += ' ';
  return Error{Errc::kNotFound, fmt::format("there is no sensor '{}'", name), hint + "`attune list sensors` shows all"};
}

}  // namespace attune::sensor
