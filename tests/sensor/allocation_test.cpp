// Sample() does not allocate: neither in steady state nor when the layout of its source changes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "fake_host.h"
#include "sensor/registry.h"
#include "sensor/summed/summed.h"

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

namespace attune::sensor::allocation_test {
namespace {

using attune::fakes::FakeHost;

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

TEST(Allocation, SumsAlsoWhenElementsComeAndGo) {
  FakeHost host;
  const auto lines = [](int cpus) {
    std::string text;
    for (int i = 0; i < cpus; ++i) text += fmt::format("cpu{} 1 2 3 4 5 6 7 8 9 10\n", i);
    return text;
  };
  host.Write("/proc/stat", lines(4)).Write("/sys/devices/system/cpu/present", "0-7\n");
  SummedSensor sum(*MakeSensor("cpu")), next(*MakeSensor("cpu"));
  std::vector<int64_t> values(sum.Prepare(host.Root())->size());
  EXPECT_EQ(AllocationsOfSample(sum, values), 0);
  host.Write("/proc/stat", lines(8));
  EXPECT_EQ(AllocationsOfSample(sum, values), 0);
  ASSERT_TRUE(next.Prepare(host.Root()).ok());
  const long before = allocations;
  next.Continue(sum);
  EXPECT_EQ(allocations, before) << "the sampling thread hands over";
  EXPECT_EQ(AllocationsOfSample(next, values), 0);
}

TEST(Allocation, DevicesThatComeAndGo) {
  FakeHost host;
  host.Write("/proc/net/dev", "eth0: 1 2 3 4 5 6 7 8 9 10 11 12\nlo: 1 2 3 4 5 6 7 8 9 10 11 12\n")
      .Write("/proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n")
      .Write("/sys/block/sda/size", "5\n")
      .Write("/sys/class/hwmon/hwmon0/temp1_input", "50000\n")
      .Write("/sys/class/hwmon/hwmon0/fan1_input", "900\n");
  for (const char* name : {"network", "block", "hwmon"}) {
    auto sensor = *MakeSensor(name);
    std::vector<int64_t> values(sensor->Prepare(host.Root())->size());
    EXPECT_EQ(AllocationsOfSample(*sensor, values), 0) << name;
    host.Write("/proc/net/dev", "a_new_one_with_a_name: 1 2 3 4 5 6 7 8 9 10 11 12\n lo: 5\n")
        .Write("/proc/diskstats", "8 0 sda 123456789012345 2 3 4 5 6 7 8 9 10 11\n8 16 a_new_one_with_a_name 1 2 3\n")
        .Write("/sys/class/hwmon/hwmon0/fan1_input", "");
    EXPECT_EQ(AllocationsOfSample(*sensor, values), 0) << name;
  }
}

}  // namespace
}  // namespace attune::sensor::allocation_test
