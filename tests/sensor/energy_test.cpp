#include "sensor/energy/energy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::energy_test {
namespace {

using attune::fakes::FakeHost;
using model::ElementKind;
using model::kAbsent;
using Reader = attune::fakes::SensorReader<EnergySensor>;

void AddZone(FakeHost& host, const std::string& zone, const std::string& name, int64_t uj) {
  const std::string folder = "/sys/class/powercap/" + zone + "/";
  host.Write(folder + "name", name + "\n").Write(folder + "energy_uj", fmt::format("{}\n", uj));
  host.Write(folder + "max_energy_range_uj", "65532610987\n");
}

TEST(Energy, DomainsOfPackagesAndThePlatform) {
  FakeHost host;
  host.MakeFolder("/sys/class/powercap/intel-rapl").MakeFolder("/sys/class/powercap/dtpm");
  AddZone(host, "intel-rapl:0", "package-0", 100);
  AddZone(host, "intel-rapl:0:0", "core", 60);
  AddZone(host, "intel-rapl:0:1", "dram", 70);
  AddZone(host, "intel-rapl:1", "package-1", 200);
  AddZone(host, "intel-rapl:2", "psys", 400);
  AddZone(host, "intel-rapl-mmio:0", "package-0", 100);
  host.Write("/sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "125000000\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(reader.specs().size(), 5u) << "the same counters by mmio are left out";
  EXPECT_EQ(values["package0/package"], 100);
  EXPECT_EQ(values["package0/core"], 60);
  EXPECT_EQ(values["package0/dram"], 70);
  EXPECT_EQ(values["package1/package"], 200);
  EXPECT_EQ(values["/psys"], 400);
  const model::SignalSpec& package = reader.Spec("package0/package");
  EXPECT_EQ(package.unit, "J");
  EXPECT_EQ(package.scale, -6);
  EXPECT_EQ(package.max_per_second, 125'000'000) << "uJ a second";
  EXPECT_EQ(package.element.kind, ElementKind::kPackage);
  EXPECT_EQ(reader.Spec("package1/package").max_per_second, kAbsent);
  EXPECT_EQ(reader.Spec("/psys").element.kind, ElementKind::kMachine);
}

TEST(Energy, DiesOfAPackageAreApart) {
  FakeHost host;
  AddZone(host, "intel-rapl:0", "package-0-die-0", 1);
  AddZone(host, "intel-rapl:1", "package-0-die-1", 2);
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["package0-die0/package"], 1);
  EXPECT_EQ(values["package0-die1/package"], 2);
}

TEST(Energy, WrapsAreAddedUp) {
  FakeHost host;
  AddZone(host, "intel-rapl:0", "package-0", 65532610980);
  Reader reader(host.Root());
  EXPECT_EQ(reader.Sample()["package0/package"], 65532610980);
  host.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "12\n");
  EXPECT_EQ(reader.Sample()["package0/package"], 65532611000) << "8 to the end of the range, then 12";
  host.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "x\n");
  EXPECT_EQ(reader.Sample()["package0/package"], kAbsent);
  EXPECT_FALSE(reader.alive());
  host.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "13\n");
  EXPECT_EQ(reader.Sample()["package0/package"], 65532611001);
}

TEST(Energy, ACounterWithoutRangeThatFallsWasReset) {
  WrappingCounter counter;
  EXPECT_EQ(counter.Advance(100), 100);
  EXPECT_EQ(counter.Advance(kAbsent), kAbsent);
  EXPECT_EQ(counter.Advance(30), 130);
  EXPECT_EQ(counter.Advance(31), 131);
}

TEST(Energy, UnavailableSaysWhatWouldHelp) {
  FakeHost host;
  const auto missing = EnergySensor().Prepare(host.Root());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kUnavailable);
  EXPECT_THAT(missing.error().hint, ::testing::HasSubstr("intel_rapl_msr"));
}

/// perf's counters of a machine with two packages, made of files that hold a count each.
class PerfEnergy : public ::testing::Test {
 protected:
  PerfEnergy() {
    host_.Write("/sys/bus/event_source/devices/power/type", "12\n")
        .Write("/sys/bus/event_source/devices/power/cpumask", "0,16\n")
        .Write("/sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n")
        .Write("/sys/bus/event_source/devices/power/events/energy-pkg.scale", "0.5\n")
        .Write("/sys/bus/event_source/devices/power/events/energy-ram", "unknown=1\n")
        .Write("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n")
        .Write("/sys/devices/system/cpu/cpu16/topology/physical_package_id", "1\n");
  }
  int Open(perf_event_attr& attributes, int cpu) {
    if (refused_ != 0) return -refused_;
    EXPECT_EQ(attributes.type, 12u);
    EXPECT_EQ(attributes.config, 2u);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const int64_t count = cpu + 3;
    EXPECT_EQ(::write(ends[1], &count, sizeof count), static_cast<ssize_t>(sizeof count));
    ::close(ends[1]);
    return ends[0];
  }
  counter::PerfOpen Opener() {
    return [this](perf_event_attr& attributes, const counter::PerfTarget& of) {
      const auto [pid, cpu, group, cgroup] = of;
      EXPECT_EQ(pid, -1);
      EXPECT_EQ(group, -1);
      return Open(attributes, cpu);
    };
  }

  FakeHost host_;
  int refused_ = 0;
};

TEST_F(PerfEnergy, StandsInForPowercap) {
  Reader reader(host_.Root(), Opener());
  auto values = reader.Sample();
  EXPECT_EQ(reader.specs().size(), 2u) << "an event of another format is left out";
  EXPECT_EQ(values["package0/package"], 1'500'000) << "3 counts of half a joule";
  EXPECT_EQ(values["package1/package"], 9'500'000);
  EXPECT_EQ(reader.Sample()["package0/package"], kAbsent) << "the counter is gone";
  EXPECT_FALSE(reader.alive());
}

TEST_F(PerfEnergy, RefusedSaysWhichRightIsMissing) {
  refused_ = EACCES;
  host_.Write("/proc/sys/kernel/perf_event_paranoid", "2\n");
  const auto refused = EnergySensor(Opener()).Prepare(host_.Root());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kPermission);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("perf_event_paranoid is 2"));
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("CAP_PERFMON"));
}

TEST_F(PerfEnergy, IsNotThisMachinesOnACapturedHost) { EXPECT_FALSE(EnergySensor().Prepare(host_.Root()).ok()); }

}  // namespace
}  // namespace attune::sensor::energy_test
