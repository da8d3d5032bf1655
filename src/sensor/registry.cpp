#include "sensor/registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "sensor/block/block.h"
#include "sensor/cpu/cpu.h"
#include "sensor/declared/declared.h"
#include "sensor/energy/energy.h"
#include "sensor/frequency/frequency.h"
#include "sensor/gpu/gpu.h"
#include "sensor/hardware/hardware.h"
#include "sensor/hwmon/hwmon.h"
#include "sensor/interrupts/interrupts.h"
#include "sensor/loadavg/loadavg.h"
#include "sensor/network/network.h"
#include "sensor/node/node.h"
#include "sensor/perf/perf.h"
#include "sensor/pressure/pressure.h"
#include "sensor/quota/quota.h"
#include "sensor/resctrl/resctrl.h"
#include "sensor/smart/smart.h"
#include "sensor/sockets/sockets.h"
#include "sensor/storage/storage.h"
#include "sensor/text/key_value_file.h"

namespace attune::sensor {
namespace {

using Sensors = std::vector<std::unique_ptr<model::Sensor>>;

class UnusableSensor final : public model::Sensor {
 public:
  UnusableSensor(std::string name, std::string file, Error why)
      : name_(std::move(name)), file_(std::move(file)), why_(std::move(why)) {
    info_ = {name_, "a file that cannot be used", file_, "none", 1'000'000'000};
    info_.file = file_;
    info_.by_request = true;
  }
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot&) override { return why_; }
  bool Sample(std::span<int64_t>) override { return false; }

 private:
  const std::string name_;
  const std::string file_;
  const Error why_;
  model::SensorInfo info_{};
};

Result<std::unique_ptr<model::Sensor>> Load(const std::string& file, const std::string& where,
                                            const SensorContext& context) {
  if (!file.ends_with(".so")) return LoadDeclared(file, where);
  if (::access(file.c_str(), R_OK) != 0) return ErrnoError(file);
  return std::unique_ptr<model::Sensor>(
      std::make_unique<PluginSensor>(PluginOptions{.file = file, .argument = where, .report = context.report}));
}

bool HasName(const Sensors& sensors, std::string_view name) {
  return std::any_of(sensors.begin(), sensors.end(), [&](const auto& sensor) { return sensor->Info().name == name; });
}

Error NoSuchSensor(std::string_view name, const std::vector<std::string>& names) {
  std::string hint = DidYouMean(name, names);
  if (!hint.empty()) hint += ' ';
  return {Errc::kInvalidArgument, fmt::format("there is no sensor '{}'", name),
          hint + "`attune list sensors` shows all"};
}

template <class... All>
void Add(Sensors& sensors) {
  (sensors.push_back(std::make_unique<All>()), ...);
}

Sensors MakeBuiltIn(const SensorContext& context) {
  Sensors sensors;
  Add<CpuSensor>(sensors);
  sensors.push_back(std::make_unique<KeyValueSensor>("vmstat"));
  sensors.push_back(std::make_unique<KeyValueSensor>("memory"));
  Add<LoadavgSensor, PressureSensor, NetworkSensor, BlockSensor, StorageSensor, HwmonSensor>(sensors);
  sensors.push_back(std::make_unique<ThreadSensor>(context.observed));
  sensors.push_back(std::make_unique<QuotaSensor>(context.observed));
  sensors.push_back(std::make_unique<SocketSensor>(context.observed));
  Add<NodeSensor, InterruptsSensor, FrequencySensor, EnergySensor, ResctrlSensor, GpuSensor, PerfSensor, HardwareSensor,
      SmartSensor>(sensors);
  sensors.push_back(std::make_unique<SelfSensor>(context.meter));
  return sensors;
}

}  // namespace

std::unique_ptr<model::Sensor> MakeUnusable(std::string name, std::string file, Error why) {
  return std::make_unique<UnusableSensor>(std::move(name), std::move(file), std::move(why));
}

SensorContext ShownContext() {
  return {std::make_shared<SelfMeter>(), [] { return std::vector<int64_t>{::getpid()}; }};
}

Sensors MakeAllSensors(const SensorContext& context, const std::vector<std::string>& folders) {
  Sensors sensors = MakeBuiltIn(context);
  for (FoundSensor& found : FindSensorFiles(folders)) {
    if (HasName(sensors, found.name)) continue;
    auto loaded = Load(found.file, "", context);
    if (loaded.ok()) {
      sensors.push_back(*std::move(loaded));
    } else {
      sensors.push_back(MakeUnusable(std::move(found.name), std::move(found.file), loaded.error()));
    }
  }
  return sensors;
}

Result<std::unique_ptr<model::Sensor>> MakeSensor(std::string_view wanted, const SensorContext& context,
                                                  const std::vector<std::string>& folders) {
  const SensorName split = SplitSensorName(wanted);
  if (split.IsFile()) return Load(split.name, split.where, context);
  std::vector<std::string> names;
  for (std::unique_ptr<model::Sensor>& sensor : MakeBuiltIn(context)) {
    names.emplace_back(sensor->Info().name);
    if (names.back() != split.name) continue;
    if (split.where.empty()) return std::move(sensor);
    return Error{Errc::kInvalidArgument, fmt::format("the sensor '{}' takes nothing behind '='", split.name), ""};
  }
  for (const FoundSensor& found : FindSensorFiles(folders)) {
    if (found.name == split.name) return Load(found.file, split.where, context);
    names.push_back(found.name);
  }
  return NoSuchSensor(split.name, names);
}

}  // namespace attune::sensor
