#include "sensor/gpu/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "model/schema.h"

namespace attune::sensor {
namespace {

// NVML's interface, which has been stable since its versions 2 and 3 of these functions (driver 450 and later).
using NvmlReturn = int;
using NvmlDevice = void*;
constexpr NvmlReturn kSuccess = 0;
constexpr unsigned kGraphicsClock = 0;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kGpuTemperature = 0;

struct Utilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// False: the library does not have it.
template <class Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

template <class T>
void Put(std::array<int64_t, kNvmlValues>& values, NvmlValue which, NvmlReturn result, T value) {
  values[static_cast<size_t>(which)] = result == kSuccess ? static_cast<int64_t>(value) : model::kAbsent;
}

}  // namespace

struct Nvml::Functions {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*count)(unsigned*) = nullptr;
  NvmlReturn (*handle)(unsigned, NvmlDevice*) = nullptr;
  NvmlReturn (*name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice, Utilization*) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, Memory*) = nullptr;
  NvmlReturn (*power)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice, unsigned, unsigned*) = nullptr;
  NvmlReturn (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  NvmlReturn (*energy)(NvmlDevice, unsigned long long*) = nullptr;

  /// The name of the first function that is not there; nullptr: all are.
  const char* Resolve(void* library) {
    if (!Find(library, "nvmlInit_v2", init)) return "nvmlInit_v2";
    if (!Find(library, "nvmlShutdown", shutdown)) return "nvmlShutdown";
    if (!Find(library, "nvmlErrorString", error_string)) return "nvmlErrorString";
    if (!Find(library, "nvmlDeviceGetCount_v2", count)) return "nvmlDeviceGetCount_v2";
    if (!Find(library, "nvmlDeviceGetHandleByIndex_v2", handle)) return "nvmlDeviceGetHandleByIndex_v2";
    if (!Find(library, "nvmlDeviceGetName", name)) return "nvmlDeviceGetName";
    if (!Find(library, "nvmlDeviceGetUtilizationRates", utilization)) return "nvmlDeviceGetUtilizationRates";
    if (!Find(library, "nvmlDeviceGetMemoryInfo", memory)) return "nvmlDeviceGetMemoryInfo";
    if (!Find(library, "nvmlDeviceGetPowerUsage", power)) return "nvmlDeviceGetPowerUsage";
    if (!Find(library, "nvmlDeviceGetTemperature", temperature)) return "nvmlDeviceGetTemperature";
    if (!Find(library, "nvmlDeviceGetClockInfo", clock)) return "nvmlDeviceGetClockInfo";
    if (!Find(library, "nvmlDeviceGetTotalEnergyConsumption", energy)) return "nvmlDeviceGetTotalEnergyConsumption";
    return nullptr;
  }
};

Nvml::Nvml(void* library) : library_(library), functions_(std::make_unique<Functions>()) {}

Nvml::~Nvml() {
  if (started_) functions_->shutdown();
  ::dlclose(library_);
}

Result<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{Errc::kUnavailable, fmt::format("{}: not installed here", library), ""};
  std::unique_ptr<Nvml> nvml(new Nvml(handle));
  ATTUNE_CHECK_OK(nvml->Start(library));
  return nvml;
}

Status Nvml::Start(const std::string& library) {
  if (const char* missing = functions_->Resolve(library_))
    return Error{Errc::kUnavailable, fmt::format("{}: has no {}", library, missing), "the driver is too old"};
  if (const NvmlReturn result = functions_->init(); result != kSuccess) {
    return Error{Errc::kUnavailable, fmt::format("{}: {}", library, functions_->error_string(result)),
                 "is the nvidia kernel module loaded, and of the same version as the library?"};
  }
  started_ = true;
  unsigned count = 0;
  functions_->count(&count);
  for (unsigned i = 0; i < count; ++i) {
    Device device;
    if (functions_->handle(i, &device.handle) != kSuccess) continue;  // not ours to see (another container's)
    char name[96] = "";
    if (functions_->name(device.handle, name, sizeof name) == kSuccess) device.name = name;
    device.has.fill(true);
    std::array<int64_t, kNvmlValues> values;
    Read(device, values);
    for (size_t value = 0; value < kNvmlValues; ++value) device.has[value] = values[value] != model::kAbsent;
    devices_.push_back(std::move(device));
  }
  return {};
}

void Nvml::Read(const Device& device, std::array<int64_t, kNvmlValues>& values) const {
  values.fill(model::kAbsent);
  const auto wanted = [&](NvmlValue which) { return device.has[static_cast<size_t>(which)]; };
  if (wanted(NvmlValue::kBusy) || wanted(NvmlValue::kMemoryBusy)) {
    Utilization utilization;
    const NvmlReturn result = functions_->utilization(device.handle, &utilization);
    Put(values, NvmlValue::kBusy, result, utilization.gpu);
    Put(values, NvmlValue::kMemoryBusy, result, utilization.memory);
  }
  if (wanted(NvmlValue::kMemoryUsed) || wanted(NvmlValue::kMemoryTotal)) {
    Memory memory;
    const NvmlReturn result = functions_->memory(device.handle, &memory);
    Put(values, NvmlValue::kMemoryUsed, result, memory.used);
    Put(values, NvmlValue::kMemoryTotal, result, memory.total);
  }
  unsigned number = 0;
  if (wanted(NvmlValue::kPower)) {
    const NvmlReturn result = functions_->power(device.handle, &number);
    Put(values, NvmlValue::kPower, result, number);
  }
  if (wanted(NvmlValue::kTemperature)) {
    const NvmlReturn result = functions_->temperature(device.handle, kGpuTemperature, &number);
    Put(values, NvmlValue::kTemperature, result, number);
  }
  if (wanted(NvmlValue::kClock)) {
    const NvmlReturn result = functions_->clock(device.handle, kGraphicsClock, &number);
    Put(values, NvmlValue::kClock, result, number);
  }
  if (wanted(NvmlValue::kMemoryClock)) {
    const NvmlReturn result = functions_->clock(device.handle, kMemoryClock, &number);
    Put(values, NvmlValue::kMemoryClock, result, number);
  }
  if (wanted(NvmlValue::kEnergy)) {
    unsigned long long energy_mj = 0;
    const NvmlReturn result = functions_->energy(device.handle, &energy_mj);
    Put(values, NvmlValue::kEnergy, result, energy_mj);
  }
}

}  // namespace attune::sensor
