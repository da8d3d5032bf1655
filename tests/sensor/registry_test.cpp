#include "sensor/registry.h"

#include <gmock/gmock.h>

#include <set>

#include "sensor/catalog.h"

namespace attune::sensor::registry_test {
namespace {

TEST(Registry, ListAndCatalogAreTheSame) {
  std::set<std::string_view> listed, described;
  for (const auto& sensor : MakeAllSensors({}, {})) listed.insert(sensor->Info().name);
  for (const CatalogSensor& sensor : Catalog()) described.insert(sensor.info.name);
  EXPECT_EQ(listed, described);
}

TEST(Registry, WrongNameGetsTheNearest) {
  EXPECT_EQ((*MakeSensor("cpu"))->Info().name, "cpu");
  const auto wrong = MakeSensor("vmstt");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(wrong.error().message, testing::HasSubstr("'vmstt'"));
  EXPECT_THAT(wrong.error().hint, testing::HasSubstr("did you mean vmstat?"));
}

TEST(SelfSensor, CountsWithAMeterAndIsUnavailableWithoutOne) {
  EXPECT_EQ(SelfSensor(nullptr).Prepare(HostRoot()).error().code, Errc::kUnavailable);
  auto meter = std::make_shared<SelfMeter>();
  meter->sampler_cpu_ns = 5;
  meter->missed_ticks = 7;
  SelfSensor sensor(meter);
  ASSERT_EQ(sensor.Prepare(HostRoot())->size(), 3u);
  std::vector<int64_t> values(3);
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_EQ(values[0], 5);
  EXPECT_GT(values[1], 0);
  EXPECT_EQ(values[2], 7);
}

}  // namespace
}  // namespace attune::sensor::registry_test
