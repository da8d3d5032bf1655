#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor/text/key_value_file.h"

namespace attune::sensor::vmstat_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Vmstat, DeliversEveryKeyWithItsKind) {
  FakeHost host;
  host.Write("/proc/vmstat", "nr_free_pages 1000\npgfault 7\nkey_of_tomorrow 3\n");
  KeyValueSensor sensor("vmstat");
  const auto specs = sensor.Prepare(host.Root());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->size(), 3u);
  EXPECT_EQ((*specs)[0].kind, model::SeriesKind::kGauge);
  EXPECT_EQ((*specs)[1].unit, "faults");
  EXPECT_EQ((*specs)[2].signal, "key_of_tomorrow");
  std::vector<int64_t> values(3);
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_THAT(values, ElementsAre(1000, 7, 3));
  host.Write("/proc/vmstat", "nr_free_pages 900\npgfault 12345\n");
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_THAT(values, ElementsAre(900, 12345, kAbsent));
}

TEST(Vmstat, SaysWhyItIsUnavailable) {
  FakeHost host;
  KeyValueSensor sensor("vmstat");
  const auto missing = sensor.Prepare(host.Root());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/proc/vmstat"));
  host.Write("/proc/vmstat", "garbage");
  const auto malformed = sensor.Prepare(host.Root());
  ASSERT_FALSE(malformed.ok());
  EXPECT_EQ(malformed.error().code, Errc::kCorrupt);
  EXPECT_THAT(malformed.error().message, HasSubstr("/proc/vmstat"));
}

TEST(Vmstat, AnEmptyFileMeansThatItVanished) {
  FakeHost host;
  host.Write("/proc/vmstat", "pgfault 7\n");
  KeyValueSensor sensor("vmstat");
  ASSERT_TRUE(sensor.Prepare(host.Root()).ok());
  host.Write("/proc/vmstat", "");
  std::vector<int64_t> values(1);
  EXPECT_FALSE(sensor.Sample(values));
  EXPECT_THAT(values, ElementsAre(kAbsent));
}

TEST(Vmstat, ReadsThisMachineAsAPlainParserDoes) {
  KeyValueSensor sensor("vmstat");
  const auto specs = sensor.Prepare(HostRoot());
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  std::vector<int64_t> before(specs->size()), after(specs->size());
  ASSERT_TRUE(sensor.Sample(before));
  const std::string text = *HostRoot().ReadFile("/proc/vmstat");
  ASSERT_TRUE(sensor.Sample(after));
  for (size_t i = 0; i < specs->size(); ++i) {
    const model::SignalSpec& spec = (*specs)[i];
    const size_t at = ("\n" + text).find("\n" + spec.signal + " ");
    ASSERT_NE(at, std::string::npos) << spec.signal;
    const int64_t plain = static_cast<int64_t>(std::stoull(text.substr(at + spec.signal.size() + 1)));
    if (spec.kind == model::SeriesKind::kCounter) {  // read before and after: it lies between
      EXPECT_LE(before[i], plain) << spec.signal;
      EXPECT_GE(after[i], plain) << spec.signal;
    }
  }
}

}  // namespace
}  // namespace attune::sensor::vmstat_test
