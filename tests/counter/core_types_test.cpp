#include "counter/core_types.h"

#include <gmock/gmock.h>

#include "fake_host.h"

namespace attune::counter {
namespace {

using attune::fakes::FakeHost;
using ::testing::ElementsAre;

class CoreTypesTest : public ::testing::Test {
 protected:
  CoreTypesTest() { host_.Write("/sys/devices/system/cpu/online", "0-3\n"); }
  void OfCpu(int cpu, const std::string& file, int value) {
    host_.Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file, std::to_string(value) + "\n");
  }
  void Unit(const std::string& device, const std::string& cpus) {
    host_.Write("/sys/bus/event_source/devices/" + device + "/type", "8\n");
    host_.Write("/sys/bus/event_source/devices/" + device + "/cpus", cpus + "\n");
  }
  std::vector<int> Types(const CoreTypes& types) { return {types.Of(0), types.Of(1), types.Of(2), types.Of(3)}; }

  FakeHost host_;
};

TEST_F(CoreTypesTest, AllAreAlike) {
  const CoreTypes types(host_.Root());
  EXPECT_THAT(types.Capacities(), ElementsAre(1024));
  EXPECT_THAT(Types(types), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(types.Of(-1), 0);
  EXPECT_EQ(types.Of(1000), 0);
}

TEST_F(CoreTypesTest, BigAndLittleByCapacity) {
  for (int cpu = 0; cpu < 4; ++cpu) OfCpu(cpu, "cpu_capacity", cpu < 2 ? 446 : 1024);
  EXPECT_THAT(CoreTypes(host_.Root()).Capacities(), ElementsAre(1024, 446));
  EXPECT_THAT(Types(CoreTypes(host_.Root())), ElementsAre(1, 1, 0, 0));
  Unit("armv8_cortex_a53", "0-1");
  Unit("armv8_cortex_a72", "2-3");
  EXPECT_THAT(Types(CoreTypes(host_.Root())), ElementsAre(1, 1, 0, 0));
}

TEST_F(CoreTypesTest, HybridByUnitThoughSomeCoresArePreferred) {
  Unit("cpu_core", "0-1");
  Unit("cpu_atom", "2-3");
  OfCpu(0, "acpi_cppc/highest_perf", 68);
  OfCpu(1, "acpi_cppc/highest_perf", 64);
  OfCpu(2, "acpi_cppc/highest_perf", 40);
  OfCpu(3, "acpi_cppc/highest_perf", 40);
  const CoreTypes types(host_.Root());
  EXPECT_THAT(Types(types), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(types.Capacities(), ElementsAre(1024, 40 * 1024 / 68));
  EXPECT_EQ(types.CpusByType(), "0-1 2-3");
}

TEST_F(CoreTypesTest, PreferredCoresOfOneKindAreOfThatKind) {
  host_.Write("/sys/bus/event_source/devices/cpu/type", "4\n");
  for (int cpu = 0; cpu < 4; ++cpu) OfCpu(cpu, "acpi_cppc/highest_perf", 236 - 5 * cpu);
  EXPECT_THAT(Types(CoreTypes(host_.Root())), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(CoreTypes(host_.Root()).CpusByType(), "") << "all are of one kind";
}

}  // namespace
}  // namespace attune::counter
