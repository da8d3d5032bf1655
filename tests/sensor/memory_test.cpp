#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor/text/key_value_file.h"
#include "sensor_reader.h"

namespace attune::sensor::memory_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::HasSubstr;
using Reader = attune::fakes::SensorReader<KeyValueSensor>;

constexpr std::string_view kPath = "/proc/meminfo";

TEST(Memory, KilobytesBecomeBytesAndPagesStayPages) {
  FakeHost host;
  host.Write(kPath,
             "MemTotal:       24684084 kB\nActive(anon):      8 kB\nSwapTotal:             0 kB\n"
             "HugePages_Total:       3\nKeyOfTomorrow:        4\nLevelOfTomorrow:  5 kB\n");
  Reader reader(host.Root(), "memory");
  auto values = reader.Sample();
  EXPECT_EQ(values["/MemTotal"], 24684084LL * 1024);
  EXPECT_EQ(values["/Active(anon)"], 8192);
  EXPECT_EQ(values["/SwapTotal"], 0);
  EXPECT_EQ(values["/HugePages_Total"], 3);
  EXPECT_EQ(values["/KeyOfTomorrow"], 4);
  EXPECT_EQ(values["/LevelOfTomorrow"], 5120);
  EXPECT_EQ(reader.Spec("/MemTotal").unit, "bytes");
  EXPECT_EQ(reader.Spec("/MemTotal").mnemonic, "total");
  EXPECT_EQ(reader.Spec("/HugePages_Total").unit, "huge pages");
  EXPECT_EQ(reader.Spec("/KeyOfTomorrow").unit, "1");
  for (const model::SignalSpec& spec : reader.specs()) EXPECT_EQ(spec.kind, model::SeriesKind::kGauge) << spec.signal;
}

TEST(Memory, KeysThatGoMoveOrAreMalformedAreAbsent) {
  FakeHost host;
  host.Write(kPath, "MemTotal:  10 kB\nMemFree:  5 kB\nDirty: 1 kB\n");
  Reader reader(host.Root(), "memory");
  host.Write(kPath, "Dirty: 2 kB\nMemTotal:  12 kB\n");
  auto values = reader.Sample();
  EXPECT_EQ(values["/MemTotal"], 12288);
  EXPECT_EQ(values["/MemFree"], kAbsent);
  EXPECT_EQ(values["/Dirty"], 2048);
  host.Write(kPath, "MemTotal:  x kB\nMemFree:  9223372036854775807 kB\n");
  values = reader.Sample();
  EXPECT_EQ(values["/MemTotal"], kAbsent);
  EXPECT_EQ(values["/MemFree"], kAbsent) << "more bytes than a value can hold";
  host.Write(kPath, "");
  values = reader.Sample();
  EXPECT_FALSE(reader.alive());
  EXPECT_EQ(values["/MemTotal"], kAbsent);
}

TEST(Memory, SaysWhyItIsUnavailable) {
  FakeHost host;
  EXPECT_EQ(KeyValueSensor("memory").Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write(kPath, "garbage");
  const auto malformed = KeyValueSensor("memory").Prepare(host.Root());
  ASSERT_FALSE(malformed.ok());
  EXPECT_EQ(malformed.error().code, Errc::kCorrupt);
  EXPECT_THAT(malformed.error().message, HasSubstr("/proc/meminfo"));
}

TEST(Memory, ReadsThisMachine) {
  Reader reader(HostRoot(), "memory");
  auto values = reader.Sample();
  ASSERT_TRUE(reader.alive());
  EXPECT_GT(values["/MemTotal"], 1 << 20);
  EXPECT_LE(values["/MemFree"], values["/MemTotal"]);
}

}  // namespace
}  // namespace attune::sensor::memory_test
