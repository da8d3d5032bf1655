#include "sensor/hwmon/hwmon.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::hwmon_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using model::SeriesKind;
using model::SumRule;
using ::testing::HasSubstr;
using Reader = attune::fakes::SensorReader<HwmonSensor>;

TEST(Hwmon, EveryChannelOfEveryChip) {
  FakeHost host;
  const std::string chip = "/sys/class/hwmon/hwmon0/";
  host.Write(chip + "name", "coretemp\n")
      .Link(chip + "device", "../../../coretemp.0")
      .Write(chip + "temp1_input", "54000\n")
      .Write(chip + "temp1_label", "Package id 0\n")
      .Write(chip + "temp1_crit", "100000\n")
      .Write(chip + "temp2_input", "-2500\n");
  const std::string board = "/sys/class/hwmon/hwmon3/";
  host.Write(board + "name", "nct6775\n")
      .Write(board + "fan2_input", "1200\n")
      .Write(board + "in0_input", "1024\n")
      .Write(board + "curr1_input", "300\n")
      .Write(board + "power1_input", "65000000\n")
      .Write(board + "power1_average", "64000000\n")
      .Write(board + "power2_average", "5\n")
      .Write(board + "energy1_input", "123456789\n");
  host.Write("/sys/class/thermal/thermal_zone0/type", "acpitz\n")
      .Write("/sys/class/thermal/thermal_zone0/temp", "27800\n")
      .Write("/sys/class/thermal/cooling_device0/type", "Processor\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["coretemp.0/Package id 0/temperature"], 54000);
  EXPECT_EQ(values["coretemp.0/temp2/temperature"], -2500) << "without a label";
  EXPECT_EQ(values["nct6775 hwmon3/fan2/fan"], 1200) << "without a device";
  EXPECT_EQ(values["nct6775 hwmon3/in0/voltage"], 1024);
  EXPECT_EQ(values["nct6775 hwmon3/curr1/current"], 300);
  EXPECT_EQ(values["nct6775 hwmon3/power1/power"], 65'000'000) << "the newer of two";
  EXPECT_EQ(values["nct6775 hwmon3/power2/power"], 5) << "an average where there is nothing else";
  EXPECT_EQ(values["nct6775 hwmon3/energy1/energy"], 123'456'789);
  EXPECT_EQ(values["thermal_zone0/acpitz/temperature"], 27800);
  EXPECT_EQ(values["coretemp.0/Package id 0/temperature_limit"], 100'000);
  EXPECT_EQ(values.size(), 10u);
  EXPECT_EQ(reader.Spec("coretemp.0/temp2/temperature").scale, -3);
  EXPECT_EQ(reader.Spec("coretemp.0/temp2/temperature").sum, SumRule::kMax);
  EXPECT_EQ(reader.Spec("nct6775 hwmon3/in0/voltage").sum, SumRule::kNone);
  EXPECT_EQ(reader.Spec("nct6775 hwmon3/energy1/energy").kind, SeriesKind::kCounter);
}

TEST(Hwmon, ChannelsOfOneLabelAreToldApart) {
  FakeHost host;
  const std::string chip = "/sys/class/hwmon/hwmon0/";
  host.Write(chip + "name", "x\n")
      .Write(chip + "temp1_input", "1\n")
      .Write(chip + "temp1_label", "Sensor\n")
      .Write(chip + "temp2_input", "2\n")
      .Write(chip + "temp2_label", "Sensor\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["x hwmon0/Sensor/temperature"], 1);
  EXPECT_EQ(values["x hwmon0/temp2/temperature"], 2);
}

TEST(Hwmon, WhatCannotBeReadIsAbsentAndFilesThatAreNoChannelAreNone) {
  FakeHost host;
  const std::string chip = "/sys/class/hwmon/hwmon0/";
  host.Write(chip + "temp1_input", "broken\n")
      .Write(chip + "temp2_input", "30000\n")
      .Write(chip + "temp_input", "1\n")
      .Write(chip + "temp1x_input", "1\n")
      .Write(chip + "intrusion0_alarm", "0\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 2u);
  EXPECT_EQ(values["hwmon0/temp1/temperature"], kAbsent);
  EXPECT_EQ(values["hwmon0/temp2/temperature"], 30000);
  host.Write(chip + "temp2_input", "");
  reader.Sample();
  EXPECT_FALSE(reader.alive()) << "nothing answers any more";
}

TEST(Hwmon, NoChipIsAnAnswerThatSaysWhatToDo) {
  FakeHost host;
  const auto none = HwmonSensor().Prepare(host.Root());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Errc::kUnavailable);
  EXPECT_THAT(none.error().message, HasSubstr("/sys/class/hwmon"));
  EXPECT_THAT(none.error().hint, HasSubstr("driver"));
}

TEST(Hwmon, LimitsAreThoseThatMakeSense) {
  FakeHost host;
  const std::string chip = "/sys/class/hwmon/hwmon0/";
  host.Write(chip + "name", "chip\n")
      .Write(chip + "temp1_input", "40000\n")
      .Write(chip + "temp1_crit", "65261850\n")
      .Write(chip + "temp2_input", "41000\n")
      .Write(chip + "temp2_max", "85000\n")
      .Write(chip + "temp3_input", "42000\n")
      .Write(chip + "temp3_crit", "0\n");
  const std::string zone = "/sys/class/thermal/thermal_zone0/";
  host.Write(zone + "type", "acpitz\n")
      .Write(zone + "temp", "27800\n")
      .Write(zone + "trip_point_0_type", "passive\n")
      .Write(zone + "trip_point_0_temp", "80000\n")
      .Write(zone + "trip_point_1_type", "critical\n")
      .Write(zone + "trip_point_1_temp", "95000\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_FALSE(values.contains("chip hwmon0/temp1/temperature_limit")) << "thousands of degrees";
  EXPECT_EQ(values["chip hwmon0/temp2/temperature_limit"], 85'000) << "the maximum where nothing is called critical";
  EXPECT_FALSE(values.contains("chip hwmon0/temp3/temperature_limit"));
  EXPECT_EQ(values["thermal_zone0/acpitz/temperature_limit"], 95'000);
  EXPECT_EQ(reader.Spec("thermal_zone0/acpitz/temperature_limit").sum, SumRule::kNone);
}

TEST(Hwmon, ClocksThatHeatLowersAreCountedOnceACoreAndPackage) {
  FakeHost host;
  host.Write("/sys/devices/system/cpu/online", "0-3\n");
  for (const char* cpu : {"0", "1", "2", "3"}) {
    const std::string folder = std::string("/sys/devices/system/cpu/cpu") + cpu;
    host.Write(folder + "/topology/thread_siblings_list", cpu[0] % 2 == 0 ? "0,2\n" : "1,3\n")
        .Write(folder + "/topology/physical_package_id", "0\n")
        .Write(folder + "/thermal_throttle/core_throttle_count", std::string(cpu) + "7\n")
        .Write(folder + "/thermal_throttle/package_throttle_count", "5\n");
  }
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 3u) << "of two cores with two threads, and a package";
  EXPECT_EQ(values["cpu0/core_throttles"], 7);
  EXPECT_EQ(values["cpu1/core_throttles"], 17);
  EXPECT_EQ(values["package0/package_throttles"], 5);
  EXPECT_EQ(reader.Spec("cpu1/core_throttles").element.os_id, 1);
}

}  // namespace
}  // namespace attune::sensor::hwmon_test
