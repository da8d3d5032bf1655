#include "sensor/frequency/frequency.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::frequency_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using Reader = attune::fakes::SensorReader<FrequencySensor>;

TEST(Frequency, CpusOfAPolicyShareItsClock) {
  FakeHost host;
  host.Write("/sys/devices/system/cpu/cpufreq/policy2/related_cpus", "2 3\n")
      .Write("/sys/devices/system/cpu/cpufreq/policy2/scaling_cur_freq", "2400000\n")
      .Write("/sys/devices/system/cpu/cpufreq/policy10/related_cpus", "10\n")
      .Write("/sys/devices/system/cpu/cpufreq/policy10/scaling_cur_freq", "<unknown>\n")
      .Write("/sys/devices/system/cpu/cpufreq/policy11/related_cpus", "x\n")
      .Write("/sys/devices/system/cpu/cpufreq/policy11/scaling_cur_freq", "1\n")
      .MakeFolder("/sys/devices/system/cpu/cpufreq/ondemand");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(reader.specs().size(), 3u);
  EXPECT_EQ(values["cpu2/current"], 2400000);
  EXPECT_EQ(values["cpu3/current"], 2400000);
  EXPECT_EQ(values["cpu10/current"], kAbsent);
  EXPECT_EQ(reader.Spec("cpu3/current").scale, 3) << "kHz of Hz";
  EXPECT_EQ(reader.Spec("cpu3/current").sum, model::SumRule::kMean);
  host.Write("/sys/devices/system/cpu/cpufreq/policy2/scaling_cur_freq", "");
  EXPECT_EQ(reader.Sample()["cpu2/current"], kAbsent);
  EXPECT_FALSE(reader.alive());
}

TEST(Frequency, TheFastestClockIsKnownWhereTheDriverSaysIt) {
  FakeHost host;
  const std::string folder = "/sys/devices/system/cpu/cpufreq/policy";
  host.Write(folder + "0/related_cpus", "0 1\n")
      .Write(folder + "0/scaling_cur_freq", "2400000\n")
      .Write(folder + "0/cpuinfo_max_freq", "4800000\n")
      .Write(folder + "2/related_cpus", "2\n")
      .Write(folder + "2/scaling_cur_freq", "1000000\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 5u);
  EXPECT_EQ(values["cpu1/fastest"], 4800000);
  EXPECT_EQ(values["cpu2/current"], 1000000);
  EXPECT_FALSE(values.contains("cpu2/fastest"));
}

TEST(Frequency, WithoutADriverItSaysSo) {
  FakeHost host;
  const auto missing = FrequencySensor().Prepare(host.Root());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kUnavailable);
  EXPECT_THAT(missing.error().hint, ::testing::HasSubstr("intel_pstate"));
}

}  // namespace
}  // namespace attune::sensor::frequency_test
