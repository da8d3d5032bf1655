// Sample() does not allocate: neither in steady state nor when the layout of its source changes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "fake_host.h"
#include "sensor/registry.h"

namespace {

thread_local long allocations = 0;

}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace attune::sensor {
namespace {

using attune::testing::FakeHost;

long AllocationsOfSample(model::Sensor& sensor, std::vector<int64_t>& values) {
  const long before = allocations;
  EXPECT_TRUE(sensor.Sample(values));
  return allocations - before;
}

TEST(Allocation, EverySensorOnThisMachine) {
  for (const auto& sensor : MakeAllSensors(ShownContext())) {
    const auto specs = sensor->Prepare(HostRoot());
    if (!specs.ok()) continue;  // not on this machine
    std::vector<int64_t> values(specs->size());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(AllocationsOfSample(*sensor, values), 0) << sensor->Info().name;
  }
}

TEST(Allocation, WhenLinesComeGoAndGrow) {
  FakeHost host;
  const auto stat = [](int cpus) {
    std::string text;
    for (int i = 0; i < cpus; ++i) text += fmt::format("cpu{} 1 2 3 4 5 6 7 8 9 123456789012\n", i * 3);
    return text + "ctxt 12345678901234\n";
  };
  host.Write("/proc/vmstat", "a 1\nb 2\nc 3\n")
      .Write("/proc/stat", stat(2))
      .Write("/sys/devices/system/cpu/present", "0-30\n");
  for (const char* name : {"vmstat", "cpu"}) {
    auto sensor = *MakeSensor(name);
    std::vector<int64_t> values(sensor->Prepare(host.Root())->size());
    EXPECT_EQ(AllocationsOfSample(*sensor, values), 0);
    host.Write("/proc/vmstat", "z 5\nc 123456789012345\na 123456789012345\nnew 1\n").Write("/proc/stat", stat(11));
    EXPECT_EQ(AllocationsOfSample(*sensor, values), 0) << name;
    host.Write("/proc/vmstat", "b 1\n").Write("/proc/stat", stat(1));
    EXPECT_EQ(AllocationsOfSample(*sensor, values), 0) << name;
  }
}

}  // namespace
}  // namespace attune::sensor
