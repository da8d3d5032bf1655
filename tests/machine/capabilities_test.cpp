#include "machine/capabilities.h"

#include <gmock/gmock.h>

#include "fake_host.h"

namespace attune::machine {
namespace {

using attune::fakes::FakeHost;
using ::testing::ElementsAre;

constexpr const char* kTwoCpus =
    "processor\t: 3\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\n"
    "stepping\t: 8\nmicrocode\t: 0x2b000\ncpu MHz\t\t: 2100.500\nphysical id\t: 1\ncore id\t\t: 4\n"
    "flags\t\t: fpu avx2  avx512f\nbogomips\t: 4200.00\n\n"
    "processor\t: 0\nmodel name\t:\nflags\t\t: fpu\n";

TEST(CpuInfo, FieldsOfEachCpuByNumber) {
  const auto cpus = ParseCpuInfo(kTwoCpus);
  ASSERT_EQ(cpus.size(), 2u);
  EXPECT_EQ(cpus[0].cpu, 0);
  EXPECT_EQ(cpus[0].model, "");
  EXPECT_FALSE(cpus[0].mhz.has_value()) << "what is not there is absent, not 0";
  EXPECT_FALSE(cpus[0].package_id.has_value());
  const CpuInfo& cpu = cpus[1];
  EXPECT_EQ(cpu.cpu, 3);
  EXPECT_EQ(cpu.vendor, "GenuineIntel");
  EXPECT_EQ(cpu.model, "Intel(R) Xeon(R)");
  EXPECT_EQ(cpu.family, 6);
  EXPECT_EQ(cpu.model_number, 143);
  EXPECT_EQ(cpu.stepping, 8);
  EXPECT_EQ(cpu.microcode, "0x2b000");
  EXPECT_EQ(cpu.mhz, 2100.5);
  EXPECT_EQ(cpu.package_id, 1);
  EXPECT_EQ(cpu.core_id, 4);
  EXPECT_EQ(cpu.bogomips, 4200.0);
  EXPECT_THAT(cpu.flags, ElementsAre("fpu", "avx2", "avx512f"));
}

TEST(CpuInfo, OfArm) {
  const auto cpus = ParseCpuInfo("processor : 0\nBogoMIPS : 50.00\nFeatures : fp asimd\nCPU implementer : 0x41\n");
  ASSERT_EQ(cpus.size(), 1u);
  EXPECT_EQ(cpus[0].vendor, "0x41");
  EXPECT_THAT(cpus[0].flags, ElementsAre("fp", "asimd"));
}

TEST(CpuInfo, RubbishIsLeftOut) {
  EXPECT_TRUE(ParseCpuInfo("").empty());
  EXPECT_TRUE(ParseCpuInfo("model name : of no CPU\nprocessor : x\nflags : fpu\n:::\n").empty());
  EXPECT_TRUE(ParseCpuInfo("processor : -1\n").empty());
  EXPECT_FALSE(ParseCpuInfo("processor : 1\ncpu MHz : fast\n").at(0).mhz.has_value());
}

TEST(Capabilities, OfAnEmptyHostAreAllAbsent) {
  FakeHost host;
  const Capabilities all = ReadCapabilities(host.Root());
  EXPECT_TRUE(all.cpus.empty());
  EXPECT_FALSE(all.memory_bytes || all.swap_bytes || all.page_bytes || all.smt_active);
  EXPECT_EQ(all.hypervisor + all.transparent_huge_pages + all.cgroup.path, "");
}

TEST(Capabilities, MemoryPagesAndProtection) {
  FakeHost host;
  host.Write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
      .Write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4\n")
      .Write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n")
      .Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
      .Write("/sys/devices/system/cpu/isolated", "2-3\n")
      .Write("/sys/devices/system/cpu/nohz_full", "  (null)\n")
      .Write("/sys/devices/system/cpu/smt/active", "1\n")
      .Write("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n");
  const Capabilities all = ReadCapabilities(host.Root());
  EXPECT_EQ(all.memory_bytes, 1'024'000u);
  EXPECT_EQ(all.memory_available_bytes, 614'400u);
  EXPECT_EQ(all.swap_bytes, 0u) << "there is none, and that is known";
  ASSERT_EQ(all.huge_pages.size(), 1u);
  EXPECT_EQ(all.huge_pages[0].page_bytes, 2u << 20);
  EXPECT_EQ(all.huge_pages[0].free, 3u);
  EXPECT_EQ(all.transparent_huge_pages, "madvise");
  EXPECT_EQ(all.isolated.ToString(), "2-3");
  EXPECT_TRUE(all.nohz_full.empty());
  EXPECT_EQ(all.smt_active, true);
  EXPECT_EQ(all.vulnerabilities.at("meltdown"), "Mitigation: PTI");
}

TEST(Capabilities, FrequencyOfACpuThatHasIt) {
  FakeHost host;
  host.Write("/proc/cpuinfo", "processor : 0\ncpu MHz : 1.0\n\nprocessor : 1\n")
      .Write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq", "800000\n")
      .Write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3600000\n")
      .Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n")
      .Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
  const auto cpus = ReadCapabilities(host.Root()).cpus;
  EXPECT_EQ(cpus[0].mhz, 2000.0);
  EXPECT_EQ(cpus[0].min_mhz, 800.0);
  EXPECT_EQ(cpus[0].max_mhz, 3600.0);
  EXPECT_EQ(cpus[0].governor, "schedutil");
  EXPECT_FALSE(cpus[1].max_mhz.has_value());
}

TEST(Capabilities, TheTightestLimitOfAllGroupsCounts) {
  FakeHost host;
  host.Write("/proc/self/cgroup", "0::/a/b\n")
      .Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
      .Write("/sys/fs/cgroup/a/b/memory.max", "2000\n")
      .Write("/sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-3\n")
      .Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n")
      .Write("/sys/fs/cgroup/a/memory.max", "1000\n")
      .Write("/sys/fs/cgroup/memory.max", "max\n");
  const CgroupLimits limits = ReadCapabilities(host.Root()).cgroup;
  EXPECT_EQ(limits.path, "/a/b");
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1000u);
  EXPECT_EQ(limits.cpuset, "0-3");
}

TEST(Capabilities, LimitsOfTheFirstVersionOfCgroups) {
  FakeHost host;
  host.Write("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/\n")
      .Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .Write("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits none = ReadCapabilities(host.Root()).cgroup;
  EXPECT_FALSE(none.cpus || none.memory_bytes);
  host.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(ReadCapabilities(host.Root()).cgroup.cpus, 0.5);
}

TEST(Capabilities, TheHypervisorByItsFirmwareOrItsClock) {
  FakeHost host;
  EXPECT_EQ(ReadCapabilities(host.Root()).hypervisor, "");
  host.Write("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
  EXPECT_EQ(ReadCapabilities(host.Root()).hypervisor, "a hypervisor that does not say its name");
  host.Write("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock\n");
  EXPECT_EQ(ReadCapabilities(host.Root()).hypervisor, "KVM");
  host.Write("/sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
  EXPECT_EQ(ReadCapabilities(host.Root()).hypervisor, "VMware");
}

}  // namespace
}  // namespace attune::machine
