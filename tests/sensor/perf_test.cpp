#include "sensor/perf/perf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "fake_host.h"
#include "sensor_reader.h"

namespace attune::sensor::perf_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::HasSubstr;
using Reader = attune::fakes::SensorReader<PerfSensor>;

constexpr size_t kEventCount = 8;

/// Counters made of pipes: what a leader's read gives is written into its pipe before.
class FakeCounters {
 public:
  counter::PerfOpen Opener() {
    return [this](perf_event_attr& attributes, const counter::PerfTarget& of) {
      const auto [pid, cpu, group, cgroup] = of;
      EXPECT_EQ(pid, -1);
      EXPECT_EQ(attributes.type, static_cast<uint32_t>(PERF_TYPE_SOFTWARE));
      const auto refused = refused_.find(cpu);
      if (refused != refused_.end()) return -refused->second;
      ++opened_;
      int ends[2];
      EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
      if (group == -1) {
        leaders_[cpu].reset(ends[1]);
      } else {
        ::close(ends[1]);
      }
      return ends[0];
    };
  }
  /// The next read of that CPU's group.
  void Count(int cpu, uint64_t first, uint64_t count = kEventCount) {
    std::vector<uint64_t> group{count};
    for (uint64_t i = 0; i < count; ++i) group.push_back(first + i);
    const size_t bytes = group.size() * sizeof(uint64_t);
    ASSERT_EQ(::write(leaders_[cpu].get(), group.data(), bytes), static_cast<ssize_t>(bytes));
  }
  void Refuse(int cpu, int error_number) { refused_[cpu] = error_number; }
  int opened() const { return opened_; }

 private:
  std::map<int, UniqueFd> leaders_;
  std::map<int, int> refused_;
  int opened_ = 0;
};

class Perf : public ::testing::Test {
 protected:
  FakeHost host_;
  FakeCounters counters_;
};

TEST_F(Perf, OneGroupForEachCpuThatIsOnline) {
  host_.Write("/sys/devices/system/cpu/online", "1,4\n");
  Reader reader(host_.Root(), counters_.Opener());
  EXPECT_EQ(reader.specs().size(), 2 * kEventCount);
  counters_.Count(1, 100);
  counters_.Count(4, 400);
  auto values = reader.Sample();
  EXPECT_EQ(values["cpu1/page_faults"], 100);
  EXPECT_EQ(values["cpu1/emulation_faults"], 107);
  EXPECT_EQ(values["cpu4/context_switches"], 403);
  EXPECT_EQ(reader.Spec("cpu4/task_clock").unit, "ns");
}

TEST_F(Perf, ACpuThatGoesOfflineIsAbsentAndComesBackWithNewCounters) {
  host_.Write("/sys/devices/system/cpu/online", "0-1\n");
  PerfSensor sensor(counters_.Opener());
  ASSERT_TRUE(sensor.Prepare(host_.Root()).ok());
  EXPECT_EQ(counters_.opened(), 16);
  counters_.Count(0, 1);
  counters_.Count(1, 50, 1);  // what the kernel leaves of a group whose CPU went
  std::vector<int64_t> values(16);
  EXPECT_TRUE(sensor.Sample(values));
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[8], kAbsent);

  host_.Write("/sys/devices/system/cpu/online", "0\n");
  auto without = sensor.Fresh();
  EXPECT_EQ(without->Prepare(host_.Root())->size(), kEventCount);
  EXPECT_EQ(counters_.opened(), 16) << "those that are open are kept";
  host_.Write("/sys/devices/system/cpu/online", "0-1\n");
  auto again = without->Fresh();
  EXPECT_EQ(again->Prepare(host_.Root())->size(), 2 * kEventCount);
  EXPECT_EQ(counters_.opened(), 24);
  counters_.Count(0, 2);
  counters_.Count(1, 7);
  EXPECT_TRUE(again->Sample(values));
  EXPECT_EQ(values[8], 7);
}

TEST_F(Perf, ACpuThatGoesWhileItIsOpenedIsLeftOut) {
  host_.Write("/sys/devices/system/cpu/online", "0-1\n");
  counters_.Refuse(0, ENODEV);
  Reader reader(host_.Root(), counters_.Opener());
  EXPECT_EQ(reader.specs().size(), kEventCount);
  EXPECT_EQ(reader.specs().front().element.os_id, 1);
}

TEST_F(Perf, RefusedSaysWhichRightIsMissing) {
  host_.Write("/sys/devices/system/cpu/online", "0\n").Write("/proc/sys/kernel/perf_event_paranoid", "3\n");
  counters_.Refuse(0, EACCES);
  const auto refused = PerfSensor(counters_.Opener()).Prepare(host_.Root());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kPermission);
  EXPECT_THAT(refused.error().message, HasSubstr("kernel.perf_event_paranoid is 3"));
  EXPECT_THAT(refused.error().hint, HasSubstr("kernel.perf_event_paranoid <= 0"));
  EXPECT_THAT(refused.error().hint, HasSubstr("CAP_PERFMON"));
  counters_.Refuse(0, EMFILE);
  EXPECT_THAT(PerfSensor(counters_.Opener()).Prepare(host_.Root()).error().hint, HasSubstr("ulimit -n"));
  counters_.Refuse(0, ENOENT);
  EXPECT_EQ(PerfSensor(counters_.Opener()).Prepare(host_.Root()).error().code, Errc::kUnavailable);
}

TEST_F(Perf, ACapturedHostIsNotCounted) {
  EXPECT_EQ(PerfSensor().Prepare(host_.Root()).error().code, Errc::kUnavailable);
}

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_F(Perf, CountsOnThisMachineAndLeavesNoDescriptorBehind) {
  const size_t before = OpenDescriptors();
  {
    PerfSensor sensor;
    const auto specs = sensor.Prepare(HostRoot());
    if (!specs.ok()) GTEST_SKIP() << specs.error().message;
    for (int fd = 3; fd < 1024; ++fd) {
      std::error_code none;
      const auto target = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), none);
      if (target == "anon_inode:[perf_event]") {
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
      }
    }
    std::vector<int64_t> first(specs->size()), second(specs->size());
    ASSERT_TRUE(sensor.Sample(first));
    ASSERT_TRUE(sensor.Fresh()->Prepare(HostRoot()).ok());
    ASSERT_TRUE(sensor.Sample(second));
    for (size_t i = 0; i < first.size(); ++i) EXPECT_GE(second[i], first[i]) << (*specs)[i].signal;
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace attune::sensor::perf_test
