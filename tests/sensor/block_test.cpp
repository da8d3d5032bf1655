#include "sensor/block/block.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::block_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using model::SeriesKind;
using ::testing::Each;
using Reader = attune::fakes::SensorReader<BlockSensor>;

void Disk(FakeHost& host, const std::string& name, const char* size = "1000\n") {
  host.Write("/sys/block/" + name + "/size", size);
}

TEST(Block, EveryDiskWithBytesTimesAndRequestsInFlight) {
  FakeHost host;
  host.Write("/proc/diskstats",
             "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
             "   8       0 sda 10 1 20 30 40 2 50 60 7 80 90 100 3 110 120 130 140\n"
             "   8       1 sda1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
             " 259       0 nvme0n1 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  Disk(host, "loop0", "0\n");
  Disk(host, "sda");
  Disk(host, "nvme0n1");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 24u) << "no partition, no free loop device";
  EXPECT_EQ(values["sda/reads"], 10);
  EXPECT_EQ(values["sda/read_bytes"], 20 * 512);
  EXPECT_EQ(values["sda/read_time"], 30);
  EXPECT_EQ(values["sda/writes"], 40);
  EXPECT_EQ(values["sda/write_bytes"], 50 * 512);
  EXPECT_EQ(values["sda/write_time"], 60);
  EXPECT_EQ(values["sda/in_flight"], 7);
  EXPECT_EQ(values["sda/busy_time"], 80);
  EXPECT_EQ(values["sda/queue_time"], 90);
  EXPECT_EQ(values["sda/discards"], 100);
  EXPECT_EQ(values["sda/discard_bytes"], 110 * 512);
  EXPECT_EQ(values["sda/flushes"], 130);
  EXPECT_EQ(values["nvme0n1/read_bytes"], 1024);
  EXPECT_EQ(reader.Spec("sda/in_flight").kind, SeriesKind::kGauge);
  EXPECT_EQ(reader.Spec("sda/read_time").scale, 6) << "milliseconds shown as nanoseconds";
  EXPECT_EQ(reader.Spec("sda/busy_time").max_per_second, 1000);
}

TEST(Block, AnOlderKernelHasFewerSignals) {
  FakeHost host;
  host.Write("/proc/diskstats", "   8       0 sda 10 1 20 30 40 2 50 60 7 80 90\n");
  Disk(host, "sda");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 9u);
  EXPECT_EQ(values["sda/queue_time"], 90);
}

TEST(Block, ADiskThatGoesIsAbsentAndOneThatComesIsNotConfused) {
  FakeHost host;
  host.Write("/proc/diskstats", "8 0 sda 1 0 0 0 2 0 0 0 0 0 0\n8 16 sdb 3 0 0 0 4 0 0 0 0 0 0\n");
  Disk(host, "sda");
  Disk(host, "sdb");
  Reader reader(host.Root());
  host.Write("/proc/diskstats", "8 32 sdc 9 0 0 0 9 0 0 0 0 0 0\n8 16 sdb 5 0 0 0 6 0 0 0 0 0 0\n");
  auto values = reader.Sample();
  EXPECT_EQ(values["sda/reads"], kAbsent);
  EXPECT_EQ(values["sdb/reads"], 5);
  EXPECT_EQ(values["sdb/writes"], 6);
}

TEST(Block, OneDiskAmongManyIsReadFromItsOwnFile) {
  FakeHost host;
  std::string loops;
  for (int i = 0; i < 8; ++i)
    loops += "7 " + std::to_string(i) + " loop" + std::to_string(i) + " 0 0 0 0 0 0 0 0 0 0 0\n";
  host.Write("/proc/diskstats", loops + "8 0 sda 1 0 2 0 3 0 4 0 5 6 7\n");
  for (int i = 0; i < 8; ++i) Disk(host, "loop" + std::to_string(i), "0\n");
  Disk(host, "sda");
  host.Write("/sys/block/sda/stat", "  10   0   20  0   30   0   40   0   5   6   7\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 9u);
  EXPECT_EQ(values["sda/reads"], 10);
  EXPECT_EQ(values["sda/write_bytes"], 40 * 512);
  EXPECT_EQ(values["sda/queue_time"], 7);
  host.Write("/sys/block/sda/stat", "");
  reader.Sample();
  EXPECT_FALSE(reader.alive()) << "it is gone";
}

TEST(Block, WhatALineLacksIsAbsent) {
  std::array<int64_t, kBlockValues> out;
  EXPECT_EQ(ParseBlockLine("8 0 sda 1 2 3", out), "sda");
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 3 * 512);
  EXPECT_EQ(out[2], kAbsent);
  EXPECT_EQ(ParseBlockLine("8 0 sda 1 2 9223372036854775807 4", out), "sda");
  EXPECT_EQ(out[1], kAbsent) << "sectors that no bytes can count";
  EXPECT_EQ(out[2], 4);
  for (const char* line : {"", "8", "8 0", "8 0 ", "8 0 sda", "8 0 sda x", "x 0 sda 1"}) {
    EXPECT_EQ(ParseBlockLine(line, out), "") << line;
    EXPECT_THAT(out, Each(kAbsent)) << line;
  }
}

TEST(Block, MissingAndNoDisk) {
  FakeHost host;
  EXPECT_EQ(BlockSensor().Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/proc/diskstats", "");
  EXPECT_EQ(BlockSensor().Prepare(host.Root()).error().code, Errc::kNotFound) << "sysfs may be hidden";
  host.MakeFolder("/sys/block");
  EXPECT_EQ(BlockSensor().Prepare(host.Root())->size(), 0u);
}

}  // namespace
}  // namespace attune::sensor::block_test
