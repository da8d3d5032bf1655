#include "sensor/cpu/cpu.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "fake_host.h"

namespace attune::sensor::cpu_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;
using ::testing::HasSubstr;

constexpr std::string_view kTotals =
    "intr 500 0 9 0\nctxt 600\nbtime 1700000000\nprocesses 70\nprocs_running 3\nprocs_blocked 1\nsoftirq 9 1\n";

/// Values by "cpu0/user" and "/context_switches".
class Reader {
 public:
  explicit Reader(const HostRoot& root) {
    auto specs = sensor_.Prepare(root);
    EXPECT_TRUE(specs.ok()) << specs.error().message;
    if (specs.ok()) specs_ = *std::move(specs);
  }
  std::map<std::string, int64_t> Sample() {
    std::vector<int64_t> values(specs_.size());
    alive_ = sensor_.Sample(values);
    std::map<std::string, int64_t> named;
    for (size_t i = 0; i < values.size(); ++i) named[specs_[i].element.name + "/" + specs_[i].signal] = values[i];
    return named;
  }
  bool alive() const { return alive_; }
  const std::vector<model::SignalSpec>& specs() const { return specs_; }

 private:
  CpuSensor sensor_;
  std::vector<model::SignalSpec> specs_;
  bool alive_ = false;
};

std::string CpuLine(int id, int64_t first) {
  std::string line = fmt::format("cpu{}", id);
  for (int i = 0; i < 10; ++i) line += fmt::format(" {}", first + i);
  return line + "\n";
}

TEST(Cpu, ReadsEveryFieldAndTotal) {
  FakeHost host;
  host.Write("/proc/stat", "cpu  9 9 9 9 9 9 9 9 9 9\n" + CpuLine(0, 100) + CpuLine(1, 200) + std::string(kTotals));
  host.Write("/sys/devices/system/cpu/present", "0-1\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values.size(), 25u);
  EXPECT_EQ(values["cpu0/user"], 100);
  EXPECT_EQ(values["cpu0/guest_nice"], 109);
  EXPECT_EQ(values["cpu1/iowait"], 204);
  EXPECT_EQ(values["/interrupts"], 500);
  EXPECT_EQ(values["/context_switches"], 600);
  EXPECT_EQ(values["/forks"], 70);
  EXPECT_EQ(values["/running"], 3);
  EXPECT_EQ(values["/blocked"], 1);
}

TEST(Cpu, TimeIsScaledToNanosecondsWithTheMostThatASecondCanHave) {
  FakeHost host;
  host.Write("/proc/stat", CpuLine(0, 1));
  Reader reader(host.Root());
  const model::SignalSpec& user = reader.specs().front();
  EXPECT_EQ(user.unit, "ns");
  double full = static_cast<double>(user.max_per_second);
  for (int i = 0; i < user.scale; ++i) full *= 10;
  EXPECT_EQ(full, 1e9);
}

TEST(Cpu, SparseCpusWithCpu0Offline) {
  FakeHost host;
  host.Write("/proc/stat", "cpu  1 1 1 1\n" + CpuLine(2, 20) + CpuLine(10, 100) + std::string(kTotals));
  host.Write("/sys/devices/system/cpu/present", "0,2,10\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["cpu0/user"], kAbsent);
  EXPECT_EQ(values["cpu2/user"], 20);
  EXPECT_EQ(values["cpu10/user"], 100);
  EXPECT_EQ(values.count("cpu1/user"), 0u);
}

TEST(Cpu, GoesOffAndOnlineWhileRunning) {
  FakeHost host;
  host.Write("/sys/devices/system/cpu/present", "0-2\n");
  host.Write("/proc/stat", CpuLine(0, 1) + CpuLine(1, 10) + CpuLine(2, 20) + std::string(kTotals));
  Reader reader(host.Root());
  EXPECT_EQ(reader.Sample()["cpu1/user"], 10);
  host.Write("/proc/stat", CpuLine(0, 2) + CpuLine(2, 21) + std::string(kTotals));
  auto values = reader.Sample();
  EXPECT_TRUE(reader.alive());
  EXPECT_EQ(values["cpu1/user"], kAbsent);
  EXPECT_EQ(values["cpu2/user"], 21);
  EXPECT_EQ(values["/forks"], 70);
  host.Write("/proc/stat", CpuLine(0, 3) + CpuLine(1, 11) + CpuLine(2, 22) + CpuLine(9, 90) + std::string(kTotals));
  values = reader.Sample();
  EXPECT_EQ(values["cpu1/user"], 11);
  EXPECT_EQ(values["cpu2/user"], 22);
  EXPECT_EQ(values["/running"], 3) << "a CPU that was not present at the start is passed over";
}

TEST(Cpu, AnOldKernelHasFewerFields) {
  FakeHost host;
  host.Write("/proc/stat", "cpu0 1 2 3 4 5 6 7\nctxt 5\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  EXPECT_EQ(values["cpu0/softirq"], 7);
  EXPECT_EQ(values.count("cpu0/steal"), 0u);
  EXPECT_EQ(values["/forks"], kAbsent);
}

TEST(Cpu, FiveHundredCpus) {
  FakeHost host;
  std::string text = "cpu  1 1 1 1\n";
  for (int i = 0; i < 512; ++i) text += CpuLine(i, i * 1000);
  host.Write("/proc/stat", text + std::string(kTotals)).Write("/sys/devices/system/cpu/present", "0-511\n");
  Reader reader(host.Root());
  auto values = reader.Sample();
  for (int i = 0; i < 512; ++i) ASSERT_EQ(values[fmt::format("cpu{}/nice", i)], i * 1000 + 1);
}

TEST(Cpu, MissingMalformedAndVanishing) {
  FakeHost host;
  CpuSensor sensor;
  EXPECT_EQ(sensor.Prepare(host.Root()).error().code, Errc::kNotFound);
  host.Write("/proc/stat", "cpu zero\ngarbage\n");
  EXPECT_EQ(sensor.Prepare(host.Root()).error().code, Errc::kCorrupt);
  host.Write("/proc/stat", CpuLine(0, 1)).Write("/sys/devices/system/cpu/present", "0-x\n");
  const auto bad_present = sensor.Prepare(host.Root());
  ASSERT_FALSE(bad_present.ok());
  EXPECT_THAT(bad_present.error().message, HasSubstr("cpu/present"));

  host.Remove("/sys");
  Reader reader(host.Root());
  host.Write("/proc/stat", "cpu0 12 x 3\n");
  auto values = reader.Sample();
  EXPECT_EQ(values["cpu0/user"], 12);
  EXPECT_EQ(values["cpu0/nice"], kAbsent);
  EXPECT_EQ(values["cpu0/system"], kAbsent);
  host.Write("/proc/stat", "");
  values = reader.Sample();
  EXPECT_FALSE(reader.alive());
  EXPECT_EQ(values["cpu0/user"], kAbsent);
}

TEST(Cpu, ReadsThisMachine) {
  Reader reader{HostRoot()};
  auto first = reader.Sample();
  auto second = reader.Sample();
  ASSERT_TRUE(reader.alive());
  EXPECT_GT(first["/context_switches"], 0);
  EXPECT_GE(second["/context_switches"], first["/context_switches"]);
  for (const CpuId cpu : CpuSet::Allowed())
    EXPECT_GT(first[fmt::format("cpu{}/idle", cpu)] + first[fmt::format("cpu{}/user", cpu)], 0);
}

}  // namespace
}  // namespace attune::sensor::cpu_test
