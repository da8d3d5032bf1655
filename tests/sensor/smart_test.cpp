#include "sensor/smart/smart.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "fake_host.h"
#include "sensor/smart/command_runner.h"
#include "sensor/smart/smart_report.h"

namespace attune::sensor::smart_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Fixture(const std::string& name) {
  const char* source = std::getenv("ATTUNE_SOURCE");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/tests/sensor/smart/" + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

int64_t ValueOf(const SmartReport& report, std::string_view signal) {
  const auto found = std::find(kSmartSignals.begin(), kSmartSignals.end(), signal);
  EXPECT_NE(found, kSmartSignals.end()) << signal;
  return report.values[static_cast<size_t>(found - kSmartSignals.begin())];
}

SmartReport Parsed(const std::string& fixture) {
  const auto report = ParseSmart(Fixture(fixture));
  EXPECT_TRUE(report.ok()) << fixture << ": " << (report.ok() ? "" : report.error().message);
  return report.ok() ? *report : SmartReport();
}

Error Refused(const std::string& text) {
  const auto report = ParseSmart(text);
  EXPECT_FALSE(report.ok()) << text;
  return report.ok() ? Error() : report.error();
}

TEST(SmartReport, AtaDisks) {
  const SmartReport good = Parsed("ata-good.json");
  EXPECT_EQ(ValueOf(good, "healthy"), 1);
  EXPECT_EQ(ValueOf(good, "temperature"), 33);
  EXPECT_EQ(ValueOf(good, "power_on_time"), 43250);
  EXPECT_EQ(ValueOf(good, "reallocated_sectors"), 0);
  EXPECT_EQ(ValueOf(good, "pending_sectors"), 0);
  EXPECT_EQ(ValueOf(good, "used"), kAbsent);
  EXPECT_EQ(ValueOf(good, "critical_warning"), kAbsent);
  const SmartReport failing = Parsed("ata-failing.json");
  EXPECT_EQ(ValueOf(failing, "healthy"), 0);
  EXPECT_EQ(ValueOf(failing, "reallocated_sectors"), 1312);
  EXPECT_EQ(ValueOf(failing, "pending_sectors"), 24);
  EXPECT_EQ(ValueOf(failing, "uncorrectable_sectors"), 8);
}

TEST(SmartReport, NvmeAndScsiDisks) {
  const SmartReport nvme = Parsed("nvme-worn.json");
  EXPECT_EQ(ValueOf(nvme, "healthy"), 1);
  EXPECT_EQ(ValueOf(nvme, "temperature"), 71);
  EXPECT_EQ(ValueOf(nvme, "used"), 98);
  EXPECT_EQ(ValueOf(nvme, "spare"), 7);
  EXPECT_EQ(ValueOf(nvme, "media_errors"), 2);
  EXPECT_EQ(ValueOf(nvme, "critical_warning"), 1);
  EXPECT_EQ(ValueOf(nvme, "reallocated_sectors"), kAbsent);
  const SmartReport scsi = Parsed("scsi.json");
  EXPECT_EQ(ValueOf(scsi, "reallocated_sectors"), 3);
  EXPECT_EQ(ValueOf(scsi, "temperature"), 38);
  EXPECT_EQ(ValueOf(scsi, "pending_sectors"), kAbsent);
}

TEST(SmartReport, DisksThatSayNothing) {
  const SmartReport asleep = Parsed("ata-standby.json");
  EXPECT_TRUE(asleep.asleep);
  EXPECT_FALSE(asleep.HasAny());
  const Error virtual_disk = Refused(Fixture("virtual.json"));
  EXPECT_EQ(virtual_disk.code, Errc::kUnavailable);
  EXPECT_EQ(virtual_disk.message, "/dev/vda: Unable to detect device type");
  const Error denied = Refused(Fixture("denied.json"));
  EXPECT_EQ(denied.code, Errc::kPermission);
  EXPECT_THAT(denied.hint, HasSubstr("root"));
}

TEST(SmartReport, ForeignBytes) {
  for (const char* text : {"", "x", "[]", "{}", "{\"smartctl\":3}", "null", "{\"smartctl\":{}", "\xff\xfe"})
    EXPECT_EQ(Refused(text).code, Errc::kCorrupt) << text;
  EXPECT_EQ(Refused("{\"smartctl\":{}}").code, Errc::kUnavailable);
  const auto odd = ParseSmart(R"({"smartctl":{"messages":[1,{"string":2}]},"temperature":{"current":99999},
      "power_on_time":{"hours":-4},"smart_status":{"passed":"yes"},"ata_smart_attributes":{"table":[1,{"id":"5"},
      {"id":5,"raw":[]},{"id":197,"raw":{"value":99999999999999999999999}},{"id":198,"raw":{"value":2}}]},
      "nvme_smart_health_information_log":[]})");
  ASSERT_TRUE(odd.ok());
  for (const std::string_view signal : kSmartSignals)
    EXPECT_EQ(ValueOf(*odd, signal), signal == "uncorrectable_sectors" ? 2 : kAbsent) << signal;
}

/// A host of files, and a script in the place of smartctl.
class FakeSmartctl : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/attune-smart-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* disk : {"sda", "nvme0n1", "loop0", "dm-0"})
      host_.Write(std::string("/sys/block/") + disk + "/size", "8\n");
    host_.Write("/sys/block/sdc/size", "0\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Put in place at once, so that whoever starts it sees the old one or the new one.
  void Script(const std::string& body) {
    const std::string fresh = folder_ + "/fresh";
    std::ofstream(fresh) << "#!/bin/sh\nfor disk; do :; done\n" << body << "\n";
    chmod(fresh.c_str(), 0755);
    std::filesystem::rename(fresh, folder_ + "/smartctl");
  }
  SmartOptions Options(milliseconds limit) const { return {folder_ + "/smartctl", limit, milliseconds(0)}; }
  static std::string Cat(const std::string& fixture) {
    return "cat '" + std::string(std::getenv("ATTUNE_SOURCE")) + "/tests/sensor/smart/" + fixture + "'";
  }

  /// Samples until the values are as wanted.
  static bool Until(SmartSensor& sensor, size_t count, const std::function<bool(const std::vector<int64_t>&)>& wanted) {
    std::vector<int64_t> values(count);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(30);
    while (std::chrono::steady_clock::now() < deadline) {
      EXPECT_TRUE(sensor.Sample(values));
      if (wanted(values)) return true;
      poll(nullptr, 0, 1);
    }
    return false;
  }

  std::string folder_;
  FakeHost host_;
};

TEST_F(FakeSmartctl, EveryDiskHasWhatItSays) {
  Script("[ \"$*\" = \"--json -a -n standby $disk\" ] || exit 99\ncase $disk in /dev/sda) " + Cat("ata-good.json") +
         ";; /dev/nvme0n1) " + Cat("nvme-worn.json") + ";; esac; exit 4");
  SmartSensor sensor(Options(milliseconds(60'000)));
  const auto specs = sensor.Prepare(host_.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  EXPECT_THAT(*specs, SizeIs(6 + 7)) << "neither the loop nor the mapped nor the empty device";
  EXPECT_EQ(specs->front().element.name, "nvme0n1");
  EXPECT_EQ(specs->back().element.name, "sda");
  std::vector<int64_t> values(specs->size());
  EXPECT_TRUE(sensor.Sample(values));
  for (size_t i = 0; i < specs->size(); ++i) EXPECT_NE(values[i], kAbsent) << (*specs)[i].signal;

  Script("case $disk in /dev/sda) " + Cat("ata-failing.json") + ";; /dev/nvme0n1) echo rubbish;; esac");
  EXPECT_TRUE(Until(sensor, specs->size(), [&](const std::vector<int64_t>& now) {
    return now.back() == 8 && now.front() == kAbsent;  // uncorrectable sectors; what said rubbish
  }));
}

TEST_F(FakeSmartctl, ADiskThatHangsHoldsUpNobody) {
  Script("case $disk in /dev/sda) " + Cat("ata-good.json") + ";; *) sleep 1000 & sleep 1000;; esac");
  SmartSensor sensor(Options(milliseconds(20'000)));
  const auto specs = sensor.Prepare(host_.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_THAT(*specs, SizeIs(kSmartValues + 6)) << "nobody knows what the one that hangs has";
  std::vector<int64_t> values(specs->size());
  EXPECT_TRUE(sensor.Sample(values));
  EXPECT_EQ(values.front(), kAbsent);
  EXPECT_EQ(values.back(), 0);
  Script("case $disk in /dev/sda) " + Cat("ata-good.json") + ";; *) " + Cat("nvme-worn.json") + ";; esac");
  EXPECT_TRUE(Until(sensor, specs->size(), [](const std::vector<int64_t>& now) { return now.front() == 1; }));
}

TEST_F(FakeSmartctl, ASleepingDiskIsKeptForLater) {
  Script("case $disk in /dev/sda) " + Cat("ata-standby.json") + "; exit 2;; *) " + Cat("virtual.json") +
         "; exit 1;; esac");
  SmartSensor sensor(Options(milliseconds(60'000)));
  const auto specs = sensor.Prepare(host_.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  EXPECT_THAT(*specs, SizeIs(kSmartValues)) << "of the sleeping one everything, of the other nothing";
  EXPECT_EQ(specs->front().element.name, "sda");
}

TEST_F(FakeSmartctl, WithoutAnyDiskThatAnswersItSaysWhy) {
  const auto refused = [&] {
    const auto specs = SmartSensor(Options(milliseconds(60'000))).Prepare(host_.Root());
    EXPECT_FALSE(specs.ok());
    return specs.ok() ? Error() : specs.error();
  };
  Script(Cat("denied.json") + "; exit 2");
  EXPECT_EQ(refused().code, Errc::kPermission);
  EXPECT_THAT(refused().message, HasSubstr("Permission denied (and 1 more)"));
  Script(Cat("virtual.json") + "; exit 1");
  EXPECT_EQ(refused().code, Errc::kUnavailable);
  Script("echo 'smartctl 6.6'");
  EXPECT_EQ(refused().code, Errc::kUnavailable);
  EXPECT_THAT(refused().message, HasSubstr("did not answer in JSON"));
  Script("exit 1");
  EXPECT_EQ(refused().code, Errc::kUnavailable);
  std::filesystem::remove(folder_ + "/smartctl");
  EXPECT_EQ(refused().code, Errc::kUnavailable);
  EXPECT_THAT(refused().message, HasSubstr("there is no smartctl"));
  EXPECT_THAT(refused().hint, HasSubstr("apt install smartmontools"));
  FakeHost empty;
  EXPECT_FALSE(SmartSensor(Options(milliseconds(60'000))).Prepare(empty.Root()).ok());
  EXPECT_THAT(SmartSensor().Prepare(empty.Root()).error().message, HasSubstr("not those of a captured one"));
}

TEST_F(FakeSmartctl, AnEndWhileADiskHangsIsAtOnce) {
  Script("case $disk in /dev/sda) " + Cat("ata-good.json") + ";; *) " + Cat("nvme-worn.json") + ";; esac");
  {
    SmartSensor sensor(Options(milliseconds(3'600'000)));
    const auto specs = sensor.Prepare(host_.Root());
    ASSERT_TRUE(specs.ok());
    const std::string started = folder_ + "/started";
    Script("touch '" + started + "'; exec sleep 1000");
    EXPECT_TRUE(Until(sensor, specs->size(), [&](const auto&) { return std::filesystem::exists(started); }));
  }  // else this would take an hour
}

TEST_F(FakeSmartctl, WhatIsKilledTakesAlongWhatItStarted) {
  const std::string file = folder_ + "/pid";
  CommandRunner runner;
  pid_t grandchild = 0;
  // Until the shell has come so far before it was killed.
  for (milliseconds limit(500); grandchild == 0; limit *= 2) {
    const auto results =
        runner.Run({{"a", {"sh", "-c", "sleep 1000 & echo $! > " + file + "; exec sleep 1000"}}}, limit, -1);
    ASSERT_FALSE(results[0].ok());
    ASSERT_EQ(results[0].error().code, Errc::kTimeout);
    std::ifstream(file) >> grandchild;
  }
  // Whoever inherited it reaps it in a moment; a zombie has ended too.
  const auto has_ended = [&] {
    std::string word;
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    return !(stat >> word >> word >> word) || word == "Z";
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(30);
  while (!has_ended() && std::chrono::steady_clock::now() < deadline) poll(nullptr, 0, 1);
  EXPECT_TRUE(has_ended());
}

TEST(CommandRunner, TooMuchOutputIsCutOff) {
  CommandRunner runner;
  const auto results =
      runner.Run({{"a", {"sh", "-c", "exec yes"}}, {"b", {"echo", "fine"}}}, milliseconds(600'000), -1);
  ASSERT_FALSE(results[0].ok());
  EXPECT_EQ(results[0].error().code, Errc::kCorrupt);
  ASSERT_TRUE(results[1].ok());
  EXPECT_EQ(*results[1], "fine\n");
}

TEST_F(FakeSmartctl, WhatCannotBeStartedSaysSo) {
  std::ofstream(folder_ + "/text") << "no program";
  CommandRunner runner;
  const auto results =
      runner.Run({{"a", {"/there/is/no/such/program"}}, {"b", {folder_ + "/text"}}}, milliseconds(60'000), -1);
  EXPECT_EQ(results[0].error().code, Errc::kNotFound);
  EXPECT_EQ(results[1].error().code, Errc::kPermission);
}

}  // namespace
}  // namespace attune::sensor::smart_test
