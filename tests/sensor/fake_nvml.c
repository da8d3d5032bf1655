/* A libnvidia-ml.so that tests load in its place: two devices, the second of which can tell little. */
#include <string.h>

int fake_nvml_started = 0; /* nvmlInit less nvmlShutdown */
int fake_nvml_init_result = 0;
int fake_nvml_lost = 0; /* every reading fails: the device fell off the bus */

enum { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kDriverNotLoaded = 9, kGpuIsLost = 15 };
static int devices[2] = {0, 1};

typedef struct {
  unsigned gpu, memory;
} Utilization;
typedef struct {
  unsigned long long total, free, used;
} Memory;

static int Number(void* device) { return *(int*)device; }
static int Result(void* device) { return fake_nvml_lost ? kGpuIsLost : Number(device) == 0 ? kSuccess : kNotSupported; }

int nvmlInit_v2(void) {
  if (fake_nvml_init_result == kSuccess) ++fake_nvml_started;
  return fake_nvml_init_result;
}
int nvmlShutdown(void) {
  --fake_nvml_started;
  return kSuccess;
}
const char* nvmlErrorString(int result) { return result == kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 2) return kInvalidArgument;
  *device = &devices[index];
  return kSuccess;
}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  strncpy(name, Number(device) == 0 ? "Fake A" : "Fake B", size);
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* utilization) {
  utilization->gpu = 97;
  utilization->memory = 40;
  return Result(device);
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = 85899345920ull;
  memory->free = 1;
  memory->used = 5368709120ull + (unsigned)Number(device);
  return fake_nvml_lost ? kGpuIsLost : kSuccess;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 350500;
  return Result(device);
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 61 : 0;
  return Result(device);
}
int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* mhz) {
  *mhz = type == 0 ? 1980 : type == 2 ? 2619 : 0;
  return Result(device);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = 123456789012ull;
  return Result(device);
}
