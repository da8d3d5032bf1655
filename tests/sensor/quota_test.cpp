#include "sensor/quota/quota.h"

#include <gmock/gmock.h>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::quota_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Quota, CountsOfBothVersions) {
  const QuotaCounts v2 = ParseQuotaCounts("usage_usec 9\nnr_periods 12\nnr_throttled 7\nthrottled_usec 1500\n");
  EXPECT_EQ(v2.throttled_ns, 1'500'000);
  EXPECT_EQ(v2.periods, 12);
  EXPECT_EQ(v2.throttled_periods, 7);
  EXPECT_EQ(ParseQuotaCounts("nr_periods 1\nnr_throttled 1\nthrottled_time 42\n").throttled_ns, 42);
  EXPECT_EQ(ParseQuotaCounts("usage_usec 9\n").throttled_ns, kAbsent);
  EXPECT_EQ(ParseQuotaCounts("throttled_usec x\nthrottled_time\n\n").throttled_ns, kAbsent);
}

TEST(Quota, Limits) {
  EXPECT_EQ(ParseQuotaLimit("50000 100000\n").quota_ns, 50'000'000);
  EXPECT_EQ(ParseQuotaLimit("50000 100000\n").period_ns, 100'000'000);
  EXPECT_EQ(ParseQuotaLimit("max 100000\n").quota_ns, kAbsent);
  EXPECT_EQ(ParseQuotaLimit("").period_ns, kAbsent);
}

TEST(Quota, FoldersGoUpToTheRoot) {
  EXPECT_THAT(
      QuotaFolders("5:memory:/m\n4:cpu,cpuacct:/a/b\n"),
      ElementsAre("/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct"));
  EXPECT_THAT(QuotaFolders("0::/\n"), ElementsAre("/sys/fs/cgroup", "/sys/fs/cgroup/unified"));
  EXPECT_THAT(QuotaFolders("0::/../../etc\nnonsense\n3:cpuset:/x\n"), IsEmpty());
}

TEST(Quota, IsThatOfTheGroupOrOfOneAbove) {
  FakeHost host;
  host.Write("/proc/7/cgroup", "0::/pod/inner\n").Write("/proc/8/cgroup", "0::/free\n");
  host.Write("/sys/fs/cgroup/pod/inner/cpu.max", "max 100000\n").Write("/sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
  host.Write("/sys/fs/cgroup/pod/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_usec 10\n");
  const std::vector<int64_t> pids{7, 8};
  QuotaSensor sensor([&pids] { return pids; });
  const auto specs = sensor.Prepare(host.Root());
  ASSERT_TRUE(specs.ok());
  ASSERT_EQ(specs->size(), 6u) << "the other process has none";
  EXPECT_EQ(specs->front().element.os_id, 7);
  std::vector<int64_t> values(specs->size());
  ASSERT_TRUE(sensor.Sample(values));
  EXPECT_EQ(values[0], 10'000);
  EXPECT_EQ(values[1], 3);
  EXPECT_EQ(values[2], 2);
  EXPECT_EQ(values[3], 50'000'000);
  EXPECT_EQ(values[4], 100'000'000);
  EXPECT_EQ(sensor.Fresh(), nullptr);
  host.Write("/proc/8/cgroup", "0::/pod\n");
  EXPECT_NE(sensor.Fresh(), nullptr) << "it went into a group with a quota";
}

TEST(Quota, WithoutAProgramIsUnavailable) {
  EXPECT_EQ(QuotaSensor(nullptr).Prepare(FakeHost().Root()).error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace attune::sensor::quota_test
