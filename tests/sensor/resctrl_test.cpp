#include "sensor/resctrl/resctrl.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::resctrl_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using Reader = attune::fakes::SensorReader<ResctrlSensor>;

void AddCache(FakeHost& host, const std::string& group, const std::string& cache, const std::string& bytes) {
  const std::string folder = "/sys/fs/resctrl/" + group + "mon_data/mon_L3_" + cache + "/";
  host.Write(folder + "llc_occupancy", bytes + "\n").Write(folder + "mbm_total_bytes", "2000\n");
  host.Write(folder + "mbm_local_bytes", "Unavailable\n");
}

TEST(Resctrl, CachesOfEveryGroup) {
  FakeHost host;
  host.MakeFolder("/sys/fs/resctrl/info/L3_MON").Write("/sys/fs/resctrl/schemata", "L3:0=fff\n");
  AddCache(host, "", "00", "65536");
  AddCache(host, "", "01", "1");
  AddCache(host, "mon_groups/web/", "00", "2");
  AddCache(host, "batch/", "00", "3");
  AddCache(host, "batch/mon_groups/night/", "01", "4");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(reader.specs().size(), 15u);
  EXPECT_EQ(values["mon_L3_00/llc_occupancy"], 65536);
  EXPECT_EQ(values["mon_L3_01/llc_occupancy"], 1);
  EXPECT_EQ(values["mon_groups/web/mon_L3_00/llc_occupancy"], 2);
  EXPECT_EQ(values["batch/mon_L3_00/llc_occupancy"], 3);
  EXPECT_EQ(values["batch/mon_groups/night/mon_L3_01/llc_occupancy"], 4);
  EXPECT_EQ(values["mon_L3_00/mbm_total_bytes"], 2000);
  EXPECT_EQ(values["mon_L3_00/mbm_local_bytes"], kAbsent) << "\"Unavailable\"";
  EXPECT_EQ(reader.Spec("mon_L3_01/llc_occupancy").kind, model::SeriesKind::kGauge);
  EXPECT_EQ(reader.Spec("mon_L3_01/mbm_total_bytes").kind, model::SeriesKind::kCounter);
  EXPECT_EQ(reader.Spec("mon_L3_01/mbm_total_bytes").element.os_id, 1);
}

TEST(Resctrl, GroupsThatAreMadeLaterAreFound) {
  FakeHost host;
  host.MakeFolder("/sys/fs/resctrl/info");
  AddCache(host, "", "00", "1");
  ResctrlSensor sensor;
  const auto before = sensor.Prepare(host.Root());
  AddCache(host, "mon_groups/new/", "00", "2");
  const auto after = sensor.Fresh()->Prepare(host.Root());
  EXPECT_EQ(before->size(), 3u);
  EXPECT_EQ(after->size(), 6u);
}

TEST(Resctrl, NotMountedAndNotMonitoringAreAnswers) {
  FakeHost host;
  host.MakeFolder("/sys/fs/resctrl");
  EXPECT_THAT(ResctrlSensor().Prepare(host.Root()).error().hint, ::testing::HasSubstr("mount -t resctrl"));
  host.MakeFolder("/sys/fs/resctrl/info/L3");
  const auto allots = ResctrlSensor().Prepare(host.Root());
  EXPECT_EQ(allots.error().code, Errc::kUnavailable);
  EXPECT_THAT(allots.error().message, ::testing::HasSubstr("does not monitor"));
}

}  // namespace
}  // namespace attune::sensor::resctrl_test
