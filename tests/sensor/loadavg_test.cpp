#include "sensor/loadavg/loadavg.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::loadavg_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::ElementsAre;
using Reader = attune::fakes::SensorReader<LoadavgSensor>;

std::vector<int64_t> Parse(std::string_view text) {
  std::array<int64_t, kLoadavgValues> out{};
  ParseLoadavg(text, out);
  return {out.begin(), out.end()};
}

TEST(Loadavg, AveragesInHundredthsAndTasks) {
  FakeHost host;
  host.Write("/proc/loadavg", "0.52 12.07 0.59 3/189 4242\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["/load1"], 52);
  EXPECT_EQ(values["/load5"], 1207);
  EXPECT_EQ(values["/load15"], 59);
  EXPECT_EQ(values["/running"], 3);
  EXPECT_EQ(values["/tasks"], 189);
  EXPECT_EQ(reader.Spec("/load1").scale, -2);
  EXPECT_EQ(reader.Spec("/tasks").scale, 0);
}

TEST(Loadavg, WhatIsMalformedAndBehindItIsAbsent) {
  EXPECT_THAT(Parse("0.52 x 0.59 3/189 4242\n"), ElementsAre(52, kAbsent, kAbsent, kAbsent, kAbsent));
  EXPECT_THAT(Parse("0.52 0.53"), ElementsAre(52, 53, kAbsent, kAbsent, kAbsent));
  EXPECT_THAT(Parse("1.00 2.00 3.00 4"), ElementsAre(100, 200, 300, 4, kAbsent));
  EXPECT_THAT(Parse(""), ElementsAre(kAbsent, kAbsent, kAbsent, kAbsent, kAbsent));
}

TEST(Loadavg, MissingAndVanishing) {
  FakeHost host;
  EXPECT_EQ(LoadavgSensor().Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/proc/loadavg", "0.52 12.07 0.59 1/189 4242\n");
  Reader reader(host.Root());
  host.Write("/proc/loadavg", "");
  EXPECT_EQ(reader.Sample()["/load1"], kAbsent);
  EXPECT_FALSE(reader.alive());
}

TEST(Loadavg, ReadsThisMachine) {
  Reader reader{HostRoot()};
  auto values = reader.Sample();
  ASSERT_TRUE(reader.alive());
  EXPECT_GE(values["/load1"], 0);
  EXPECT_GE(values["/tasks"], 1);
}

}  // namespace
}  // namespace attune::sensor::loadavg_test
