// Knobs of the kernel: on a real process where this machine has them, else on a captured tree.

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "actuator_run.h"

namespace attune::actuator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ActuatorTest, TimerSlack) {
  const Child child;
  GoThere(Knob("cpu.timer-slack"), child.Target(), "1000000");
}

TEST_F(ActuatorTest, PriorityOfInputAndOutput) {
  const Child child;
  const model::Knob& knob = Knob("io.priority");
  GoThere(knob, child.Target(), "best-effort 7");
  GoThere(knob, child.Target(), "idle");
  const std::string place = "thread " + std::to_string(child.pid());
  for (const char* wrong : {"", "best-effort", "best-effort 8", "best-effort x", "idle 3", "first"}) {
    const auto written = Of(knob)->Write(knob, child.Target(), {place, wrong});
    ASSERT_FALSE(written.ok()) << wrong;
    EXPECT_EQ(written.error().code, Errc::kInvalidArgument) << wrong;
  }
}

constexpr size_t kBlock = 64u << 20;

/// A child with 64 MiB in small pages.
void TakeSmallPages() {
  void* block = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(block, kBlock, MADV_NOHUGEPAGE);
  memset(block, 1, kBlock);
  madvise(block, kBlock, MADV_HUGEPAGE);
}

TEST_F(ActuatorTest, MemoryIsPutIntoHugePages) {
  if (!HostRoot().Exists("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "a kernel without huge pages";
  const Child child(&TakeSmallPages);
  const model::Knob& knob = Knob("memory.huge-pages");
  const auto actuator = Of(knob);
  const auto before = actuator->Read(knob, child.Target());
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_EQ(before->front().value, "off");
  const auto written = actuator->Write(knob, child.Target(), {"", "on"});
  if (!written.ok() && written.error().code == Errc::kPermission) GTEST_SKIP() << written.error().hint;
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(actuator->Read(knob, child.Target())->front().value, "on");
}

TEST_F(ActuatorTest, AProcessWithoutLargeMemoryHasNoHugePages) {
#ifdef __has_feature
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "a sanitizer's shadow is large memory";
#endif
#endif
  const Child child;
  const model::Knob& knob = Knob("memory.huge-pages");
  const auto written = Of(knob)->Write(knob, child.Target(), {"", "on"});
  ASSERT_FALSE(written.ok());
}

TEST_F(ActuatorTest, NodesOfPages) {
  const Child child;
  const model::Knob& knob = Knob("memory.nodes");
  const auto actuator = Of(knob);
  const auto before = actuator->Read(knob, child.Target());
  if (!before.ok()) GTEST_SKIP() << before.error().message;
  const std::string first = before->front().value.substr(0, before->front().value.find_first_of(",-"));
  GoThere(knob, child.Target(), first);
  EXPECT_FALSE(actuator->Write(knob, child.Target(), {"", "1000"}).ok());
}

/// The control group of a child in a group of its own; empty: this machine lets us make none.
class OwnGroup {
 public:
  explicit OwnGroup(pid_t pid) {
    for (const char* tree : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"}) {
      const std::string folder = std::string(tree) + "/attune-test-" + std::to_string(getpid());
      if (mkdir(folder.c_str(), 0755) != 0) continue;
      folder_ = folder;
      // Elsewhere than in a tree of control groups it is an empty folder.
      if (access((folder + "/cgroup.procs").c_str(), F_OK) == 0) std::ofstream(folder + "/cgroup.procs") << pid << "\n";
      if (access((folder + "/cpu.weight").c_str(), F_OK) == 0) knob = "cgroup.cpu-weight";
      if (access((folder + "/cpu.shares").c_str(), F_OK) == 0) knob = "cgroup.cpu-shares";
      if (!knob.empty()) return;
      Leave();
    }
  }
  ~OwnGroup() { Leave(); }
  std::string knob;

 private:
  void Leave() {
    if (!folder_.empty()) rmdir(folder_.c_str());
    folder_.clear();
  }
  std::string folder_;
};

TEST_F(ActuatorTest, ControlGroupOfAProcess) {
  auto child = std::make_unique<Child>();
  const OwnGroup group(child->pid());
  if (group.knob.empty()) GTEST_SKIP() << "no control group with a controller of CPUs can be made here";
  GoThere(Knob(group.knob), child->Target(), "300");
  child.reset();
}

TEST_F(ActuatorTest, ControlGroupsOnACapturedTree) {
  const CapturedTree tree;
  tree.Put("/proc/4711/cgroup", "3:cpu,cpuacct:/old\n0::/shop/web\n");
  tree.Put("/sys/fs/cgroup/shop/web/memory.high", "max\n");
  tree.Put("/sys/fs/cgroup/cpu,cpuacct/old/cpu.cfs_quota_us", "-1\n");
  const model::Knob& high = Knob("cgroup.memory-high");
  const auto actuator = Of(high, tree.Host());
  const auto read = actuator->Read(high, {4711, 1});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(model::KnobSetting{"/sys/fs/cgroup/shop/web/memory.high", "max"}));
  ASSERT_TRUE(actuator->Write(high, {}, {read->front().place, "1000000"}).ok());
  EXPECT_THAT(tree.Get("/sys/fs/cgroup/shop/web/memory.high"), HasSubstr("1000000"));
  const model::Knob& quota = Knob("cgroup.cpu-quota");
  EXPECT_THAT(*actuator->Read(quota, {4711, 1}),
              ElementsAre(model::KnobSetting{"/sys/fs/cgroup/cpu,cpuacct/old/cpu.cfs_quota_us", "-1"}));
  // What the group does not have, a group that is elsewhere, and no process at all.
  EXPECT_EQ(actuator->Read(Knob("cgroup.cpu-weight"), {4711, 1}).error().code, Errc::kNotFound);
  EXPECT_FALSE(actuator->Write(high, {}, {"/etc/memory.high", "1"}).ok());
  EXPECT_FALSE(actuator->Write(high, {}, {"/sys/fs/cgroup/../../memory.high", "1"}).ok());
  EXPECT_THAT(actuator->Read(high, {}).error().hint, HasSubstr("-p PID"));
}

TEST_F(ActuatorTest, FilesOfTheKernelOnACapturedTree) {
  const CapturedTree tree;
  tree.Put("/proc/sys/vm/swappiness", "60\n");
  const model::Knob& knob = Knob("machine.swappiness");
  const auto actuator = Of(knob, tree.Host());
  const auto before = actuator->Read(knob, {});
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->front().value, "60");
  ASSERT_TRUE(actuator->Write(knob, {}, {"", "10"}).ok());
  EXPECT_EQ(actuator->Read(knob, {})->front().value, "10");
  model::Knob elsewhere = knob;
  for (const char* path : {"/etc/passwd", "/proc/sys/../../etc/passwd", "/sys/*/*/enabled"}) {
    elsewhere.how["path"] = path;
    EXPECT_FALSE(actuator->Read(elsewhere, {}).ok()) << path;
    EXPECT_FALSE(actuator->Write(elsewhere, {}, {"", "10"}).ok()) << path;
  }
}

TEST_F(ActuatorTest, AFileForEachCpuOrDevice) {
  const CapturedTree tree;
  tree.Put("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
  tree.Put("/sys/devices/system/cpu/cpufreq/policy4/scaling_governor", "schedutil\n");
  tree.Put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
  tree.Put("/sys/block/sda/queue/read_ahead_kb", "128\n");
  const model::Knob& knob = Knob("machine.frequency-governor");
  const auto actuator = Of(knob, tree.Host());
  const auto before = actuator->Read(knob, {});
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_THAT(*before,
              ElementsAre(model::KnobSetting{"policy0", "powersave"}, model::KnobSetting{"policy4", "schedutil"}));
  ASSERT_TRUE(actuator->Write(knob, {}, {"policy4", "performance"}).ok());
  EXPECT_EQ(actuator->Read(knob, {})->back().value, "performance");
  EXPECT_FALSE(actuator->Write(knob, {}, {"../boost", "performance"}).ok());
  EXPECT_THAT(*actuator->Read(Knob("machine.read-ahead"), {}), ElementsAre(model::KnobSetting{"sda", "128"}));
  EXPECT_EQ(actuator->Read(Knob("machine.energy-preference"), {}).error().code, Errc::kNotFound);
}

TEST_F(ActuatorTest, WakeLatencyHoldsAsLongAsItIsHeld) {
  const char* const file = "/dev/cpu_dma_latency";
  const model::Knob& knob = Knob("machine.wake-latency");
  if (access(file, R_OK | W_OK) != 0) GTEST_SKIP() << "no " << file << " that we may write";
  const auto now_us = [&] {
    int32_t value = 0;
    const int fd = open(file, O_RDONLY);
    EXPECT_EQ(read(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    close(fd);
    return value;
  };
  const int32_t before_us = now_us();
  auto actuator = Of(knob);
  EXPECT_TRUE(actuator->EndsWithUs());
  EXPECT_EQ(actuator->Read(knob, {})->front().value, "free");
  ASSERT_TRUE(actuator->Write(knob, {}, {"", "30"}).ok());
  EXPECT_EQ(now_us(), std::min(before_us, 30));
  ASSERT_TRUE(actuator->Write(knob, {}, {"", "free"}).ok());
  EXPECT_EQ(now_us(), before_us);
  ASSERT_TRUE(actuator->Write(knob, {}, {"", "30"}).ok());
  actuator.reset();
  EXPECT_EQ(now_us(), before_us);
}

TEST_F(ActuatorTest, ShareOfCachesOnACapturedTree) {
  const CapturedTree tree;
  tree.Put("/sys/fs/resctrl/schemata", "    L3:0=ff;1=ff\n    MB:0=100\n");
  tree.Put("/sys/fs/resctrl/tasks", "1\n4711\n");
  tree.Put("/proc/4711/task/4711/stat", "");
  // The kernel fills a new group by itself.
  tree.Put("/sys/fs/resctrl/attune-4711/schemata", "L3:0=ff;1=ff\nMB:0=100\n");
  tree.Put("/sys/fs/resctrl/attune-4711/tasks", "");
  const model::Knob& knob = Knob("machine.cache-share");
  const auto actuator = Of(knob, tree.Host());
  const auto before = actuator->Read(knob, {4711, 1});
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_EQ(before->front().value, "L3:0=ff;1=ff MB:0=100");
  ASSERT_TRUE(actuator->Write(knob, {}, {"process 4711", "L3:0=0f;1=0f"}).ok());
  EXPECT_EQ(tree.Get("/sys/fs/resctrl/attune-4711/tasks"), "4711\n");
  EXPECT_THAT(tree.Get("/sys/fs/resctrl/attune-4711/schemata"), HasSubstr("L3:0=0f;1=0f\n"));
  ASSERT_TRUE(actuator->Write(knob, {}, before->front()).ok());
  EXPECT_FALSE(tree.Has("/sys/fs/resctrl/attune-4711"));
  EXPECT_THAT(tree.Get("/sys/fs/resctrl/tasks"), HasSubstr("4711\n"));
  // Somebody else's group is left alone.
  tree.Put("/sys/fs/resctrl/theirs/schemata", "L3:0=3;1=3\n");
  tree.Put("/sys/fs/resctrl/theirs/tasks", "4711\n");
  EXPECT_EQ(actuator->Write(knob, {}, {"process 4711", "L3:0=1;1=1"}).error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace attune::actuator
