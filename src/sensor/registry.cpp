#include "sensor/registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/units.h"
#include "sensor/block/block.h"
#include "sensor/cpu/cpu.h"
#include "sensor/energy/energy.h"
#include "sensor/frequency/frequency.h"
#include "sensor/gpu/gpu.h"
#include "sensor/hwmon/hwmon.h"
#include "sensor/interrupts/interrupts.h"
#include "sensor/loadavg/loadavg.h"
#include "sensor/memory/memory.h"
#include "sensor/network/network.h"
#include "sensor/node/node.h"
#include "sensor/perf/perf.h"
#include "sensor/pressure/pressure.h"
#include "sensor/resctrl/resctrl.h"
#include "sensor/storage/storage.h"
#include "sensor/vmstat/vmstat.h"

namespace attune::sensor {

SensorContext ShownContext() {
  return {std::make_shared<SelfMeter>(), [] { return std::vector<int64_t>{::getpid()}; }};
}

std::vector<std::unique_ptr<model::Sensor>> MakeAllSensors(const SensorContext& context) {
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
  sensors.push_back(std::make_unique<ThreadSensor>(context.observed));
  sensors.push_back(std::make_unique<NodeSensor>());
  sensors.push_back(std::make_unique<InterruptsSensor>());
  sensors.push_back(std::make_unique<FrequencySensor>());
  sensors.push_back(std::make_unique<EnergySensor>());
  sensors.push_back(std::make_unique<ResctrlSensor>());
  sensors.push_back(std::make_unique<GpuSensor>());
  sensors.push_back(std::make_unique<PerfSensor>());
  sensors.push_back(std::make_unique<SelfSensor>(context.meter));
  return sensors;
}

Result<std::unique_ptr<model::Sensor>> MakeSensor(std::string_view name, const SensorContext& context) {
  std::vector<std::string> names;
  for (std::unique_ptr<model::Sensor>& sensor : MakeAllSensors(context)) {
    if (sensor->Info().name == name) return std::move(sensor);
    names.emplace_back(sensor->Info().name);
  }
  std::string hint = DidYouMean(name, names);
  if (!hint.empty()) hint += ' ';
  return Error{Errc::kNotFound, fmt::format("there is no sensor '{}'", name), hint + "`attune list sensors` shows all"};
}

}  // namespace attune::sensor
