#include "sensor/pressure/pressure.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::pressure_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using Reader = attune::fakes::SensorReader<PressureSensor>;

constexpr std::string_view kBoth =
    "some avg10=0.12 avg60=3.40 avg300=0.67 total=5193177268\nfull avg10=0.01 avg60=0.02 avg300=0.00 total=17\n";
constexpr std::string_view kSome = "some avg10=1.00 avg60=0.00 avg300=0.00 total=99\n";
constexpr std::string_view kFull = "full avg10=2.00 avg60=0.00 avg300=0.00 total=98\n";

TEST(Pressure, LinesAsTheKernelHasThem) {
  FakeHost host;
  host.Write("/proc/pressure/cpu", kSome).Write("/proc/pressure/memory", kBoth).Write("/proc/pressure/irq", kFull);
  Reader reader(host.Root());
  EXPECT_EQ(reader.specs().size(), 12u) << "no io, no cpu full, no irq some";
  auto values = reader.Sample();
  EXPECT_EQ(values["/cpu_some_total"], 99);
  EXPECT_EQ(values["/memory_some_avg10"], 12);
  EXPECT_EQ(values["/memory_some_avg60"], 340);
  EXPECT_EQ(values["/memory_some_total"], 5193177268);
  EXPECT_EQ(values["/memory_full_total"], 17);
  EXPECT_EQ(values["/irq_full_avg10"], 200);
}

TEST(Pressure, TotalsAreTimeWithOneSecondASecondAtMost) {
  FakeHost host;
  host.Write("/proc/pressure/cpu", kSome);
  Reader reader(host.Root());
  const model::SignalSpec& total = reader.Spec("/cpu_some_total");
  EXPECT_EQ(total.kind, model::SeriesKind::kCounter);
  EXPECT_EQ(total.unit, "ns");
  EXPECT_EQ(total.scale, 3);
  EXPECT_EQ(total.max_per_second, 1'000'000) << "microseconds";
  EXPECT_EQ(total.mnemonic, "cpu_some");
  EXPECT_EQ(reader.Spec("/cpu_some_avg10").kind, model::SeriesKind::kGauge);
  EXPECT_EQ(reader.Spec("/cpu_some_avg10").scale, -2);
}

TEST(Pressure, OfItsOwnCgroupWhichTheRootIsNot) {
  FakeHost host;
  host.Write("/proc/pressure/cpu", kSome).Write("/proc/self/cgroup", "4:memory:/x\n0::/user.slice/a b\n");
  host.Write("/sys/fs/cgroup/user.slice/a b/memory.pressure", kBoth);
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["/cgroup_memory_full_total"], 17);
  EXPECT_EQ(reader.Spec("/cgroup_memory_full_total").description,
            "time in which every task that was not idle waited for memory (attune's own cgroup)");
  EXPECT_EQ(reader.specs().size(), 9u);

  host.Write("/proc/self/cgroup", "0::/\n").Write("/sys/fs/cgroup/memory.pressure", kBoth);
  EXPECT_EQ(Reader(host.Root()).specs().size(), 3u);
  host.Write("/proc/self/cgroup", "0::/x\n").Write("/sys/fs/cgroup/unified/x/io.pressure", kBoth);
  EXPECT_EQ(Reader(host.Root()).specs().size(), 9u) << "version 2 beside version 1";
}

TEST(Pressure, MalformedLinesAreAbsent) {
  const Pressure pressure = ParsePressure("some avg10=0.1x\nfull avg10=1.00 avg60=2.00 avg300=3.00\n");
  EXPECT_EQ(pressure.some.avg10, 10);
  EXPECT_EQ(pressure.some.avg60, kAbsent);
  EXPECT_FALSE(pressure.some.IsThere());
  EXPECT_EQ(pressure.full.avg60, 200);
  EXPECT_FALSE(pressure.full.IsThere());
  EXPECT_FALSE(ParsePressure("").some.IsThere());
}

TEST(Pressure, TheTimeThatAQuotaWithholds) {
  FakeHost host;
  host.Write("/proc/pressure/cpu", kSome).Write("/proc/self/cgroup", "0::/job\n");
  const std::string stat = "/sys/fs/cgroup/job/cpu.stat";
  host.Write(stat, "usage_usec 9\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1234\nnr_bursts 0\n");
  Reader reader(host.Root());
  EXPECT_EQ(reader.Sample()["/cgroup_throttled"], 1234);
  EXPECT_EQ(reader.Spec("/cgroup_throttled").scale, 3) << "microseconds of ns";
  host.Write(stat, "usage_usec 9\n");
  EXPECT_EQ(reader.Sample()["/cgroup_throttled"], kAbsent);
  Reader without(host.Root());
  EXPECT_FALSE(without.Sample().contains("/cgroup_throttled")) << "its CPU controller is not at work";
  EXPECT_EQ(ParseThrottledUs("throttled_usec x\n"), kAbsent);
  EXPECT_EQ(ParseThrottledUs(""), kAbsent);
}

TEST(Pressure, UnavailableAndVanishing) {
  FakeHost host;
  const auto missing = PressureSensor().Prepare(host.Root());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kUnavailable);
  EXPECT_THAT(missing.error().hint, ::testing::HasSubstr("psi=1"));
  host.Write("/proc/pressure/cpu", "nonsense");
  EXPECT_FALSE(PressureSensor().Prepare(host.Root()).ok());

  host.Write("/proc/pressure/cpu", kSome).Write("/proc/pressure/io", kBoth);
  Reader reader(host.Root());
  host.Write("/proc/pressure/io", "");
  auto values = reader.Sample();
  EXPECT_TRUE(reader.alive());
  EXPECT_EQ(values["/cpu_some_total"], 99);
  EXPECT_EQ(values["/io_full_total"], kAbsent);
  host.Write("/proc/pressure/cpu", "");
  reader.Sample();
  EXPECT_FALSE(reader.alive());
}

}  // namespace
}  // namespace attune::sensor::pressure_test
