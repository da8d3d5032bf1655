#include "sensor/declared/file_sensor.h"

#include <gmock/gmock.h>
#include <linux/magic.h>
#include <sys/stat.h>

#include "fake_host.h"
#include "sensor/declared/declared.h"
#include "sensor/registry.h"

namespace attune::sensor::file_sensor_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseNumber, WhatKernelFilesHold) {
  EXPECT_EQ(ParseNumber("45000\n", -3), 45000);
  EXPECT_EQ(ParseNumber("-5\n", 0), -5);
  EXPECT_EQ(ParseNumber("12.5\n", -1), 125);
  EXPECT_EQ(ParseNumber("0.526 0.1", -2), 52);
  EXPECT_EQ(ParseNumber("7.0", -3), 7000);
  EXPECT_EQ(ParseNumber("MemFree: 31 kB", 0), 31);
  EXPECT_EQ(ParseNumber("0x1f", 0), 31);
  EXPECT_EQ(ParseNumber("0x", 0), kAbsent);
  EXPECT_EQ(ParseNumber("", 0), kAbsent);
  EXPECT_EQ(ParseNumber("none\n", 0), kAbsent);
  EXPECT_EQ(ParseNumber("99999999999999999999", 0), kAbsent);
  EXPECT_EQ(ParseNumber("-9223372036854775807", 0), -INT64_MAX);
}

constexpr std::string_view kZones = R"([sensor]
name = "zones"
description = "thermal zones"
[files]
folder = "/sys/class/thermal/thermal_zone*"
[elements]
name = "zone{match}"
[[signal]]
name = "temperature"
file = "temp"
unit = "C"
scale = -3
kind = "gauge"
sum = "max"
description = "temperature"
[[signal]]
name = "trips"
file = "trips"
unit = "1"
kind = "counter"
description = "alarms"
)";

TEST(FileSensor, AFifoIsRefusedAndNobodyWaitsForIt) {
  FakeHost host;
  host.MakeFolder("/sys/class/thermal/thermal_zone0");
  ASSERT_EQ(::mkfifo(host.Path("/sys/class/thermal/thermal_zone0/temp").c_str(), 0600), 0);
  auto description = ParseDescription(kZones, "zones.toml");
  ASSERT_TRUE(description.ok());
  const auto sensor = MakeDeclared(*std::move(description), "");
  const auto signals = sensor->Prepare(host.Root());
  ASSERT_FALSE(signals.ok());
  EXPECT_THAT(signals.error().message, HasSubstr("temp is a FIFO"));
}

TEST(FileSensor, AFileThatTheKernelDoesNotMakeHasAThreadOfItsOwn) {
  FakeHost host;
  host.Write("/sys/class/thermal/thermal_zone0/temp", "45000\n");
  auto description = ParseDescription(kZones, "zones.toml");
  ASSERT_TRUE(description.ok());
  const auto sensor = MakeDeclared(*std::move(description), "");
  ASSERT_TRUE(sensor->Prepare(host.Root()).ok());
  EXPECT_TRUE(sensor->Info().own_thread) << "a file of this folder may be one of FUSE";
}

TEST(FileSensor, FileSystemsOfTheKernelNeedNoThreadOfTheirOwn) {
  for (const int64_t kernels : {SYSFS_MAGIC, PROC_SUPER_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                RDTGROUP_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC})
    EXPECT_TRUE(IsMadeByTheKernel(kernels)) << kernels;
  for (const int64_t others : {EXT4_SUPER_MAGIC, TMPFS_MAGIC, NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC})
    EXPECT_FALSE(IsMadeByTheKernel(others)) << others;
}

TEST(FileSensor, OneElementAFolder) {
  FakeHost host;
  host.Write("/sys/class/thermal/thermal_zone0/temp", "45000\n")
      .Write("/sys/class/thermal/thermal_zone10/temp", "x\n")
      .Write("/sys/class/thermal/thermal_zone10/trips", "3\n")
      .Write("/sys/class/thermal/cooling_device0/temp", "1\n");
  const auto sensor = MakeDeclared(*ParseDescription(kZones, "zones.toml"));
  const auto specs = sensor->Prepare(host.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->size(), 3u);
  EXPECT_EQ((*specs)[0].element.name, "zone0");
  EXPECT_EQ((*specs)[2].element.name, "zone10");
  EXPECT_EQ((*specs)[2].signal, "trips");
  std::vector<int64_t> values(3);
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(values, ElementsAre(45000, kAbsent, 3));
  host.Write("/sys/class/thermal/thermal_zone11/temp", "1\n");
  EXPECT_EQ(sensor->Fresh()->Prepare(host.Root())->size(), 4u);
}

TEST(FileSensor, NothingThereIsAnAnswer) {
  FakeHost host;
  EXPECT_EQ(MakeDeclared(*ParseDescription(kZones, "zones.toml"))->Prepare(host.Root()).error().code,
            Errc::kUnavailable);
  host.MakeFolder("/sys/class/thermal/thermal_zone0");
  const auto empty = MakeDeclared(*ParseDescription(kZones, "zones.toml"))->Prepare(host.Root());
  EXPECT_THAT(empty.error().message, HasSubstr("thermal_zone0/temp"));
}

/// Folders of descriptions, as a user has them.
class Folders : public ::testing::Test {
 protected:
  void SetUp() override {
    umask(022);
    host_.Write("/user/zones.toml", kZones)
        .Write("/user/broken.toml", "[sensor]\nname = 3\n")
        .Write("/user/notes.txt", "");
    host_.Write("/system/zones.toml", "").Write("/system/cpu.toml", "");
    folders_ = {Folder("/user"), Folder("/system"), Folder("/none")};
  }
  std::string Folder(const std::string& name) { return host_.Path(name).string(); }

  FakeHost host_;
  std::vector<std::string> folders_;
};

TEST_F(Folders, TheFirstFileOfANameCounts) {
  const auto found = FindSensorFiles(folders_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "broken");
  EXPECT_EQ(found[1].name, "cpu");
  EXPECT_EQ(found[2].file, Folder("/user/zones.toml"));
  EXPECT_EQ((*MakeSensor("zones", {}, folders_))->Info().file, Folder("/user/zones.toml"));
}

TEST_F(Folders, ABrokenFileIsShownAndHarmsNothing) {
  int broken = 0, cpus = 0;
  for (const auto& sensor : MakeAllSensors({}, folders_)) {
    if (sensor->Info().name == "cpu") ++cpus;
    if (sensor->Info().name != "broken") continue;
    ++broken;
    EXPECT_THAT(sensor->Prepare(HostRoot()).error().message,
                AllOf(HasSubstr("broken.toml:2:"), HasSubstr(": [sensor]: 'name'")));
  }
  EXPECT_EQ(broken, 1);
  EXPECT_EQ(cpus, 1) << "attune's own sensors cannot be replaced";
  EXPECT_FALSE(MakeSensor("broken", {}, folders_).ok());
}

TEST_F(Folders, FilesThatOthersCanWriteAreLeftOut) {
  ASSERT_EQ(chmod(Folder("/user/zones.toml").c_str(), 0666), 0);
  EXPECT_EQ(FindSensorFiles(folders_)[2].file, Folder("/system/zones.toml"));
}

TEST_F(Folders, ASensorIsNamedByItsFileToo) {
  const std::string file = Folder("/user/zones.toml");
  EXPECT_EQ((*MakeSensor(file, {}, {}))->Info().name, "zones");
  const auto moved = MakeSensor(file + "=" + Folder("/elsewhere"), {}, {});
  EXPECT_EQ((*moved)->Info().source, Folder("/elsewhere"));
  EXPECT_EQ(MakeSensor(Folder("/user/none.toml"), {}, {}).error().code, Errc::kNotFound);
  EXPECT_THAT(MakeSensor("zonse", {}, folders_).error().hint, HasSubstr("did you mean zones?"));
  EXPECT_EQ(MakeSensor("cpu=/x", {}, {}).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace attune::sensor::file_sensor_test
