// The module energy on trees of files that change.

#include <gmock/gmock.h>

#include "fake_host.h"
#include "module/loaded_module.h"

namespace attune::fakes {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRange = 262'143'328'850;  // of a Xeon

class EnergyModuleTest : public ::testing::Test {
 protected:
  EnergyModuleTest() : module("energy") { module.root = host.Folder(); }

  void Zone(const std::string& zone, const std::string& name, int64_t uj) {
    const std::string folder = "/sys/class/powercap/" + zone;
    if (!host.Root().Exists(folder + "/name"))
      host.Write(folder + "/name", name + "\n").Write(folder + "/max_energy_range_uj", std::to_string(kRange) + "\n");
    host.Write(folder + "/energy_uj", std::to_string(uj) + "\n");
  }
  static int64_t Wrapped(double uj) { return static_cast<int64_t>(std::fmod(uj, static_cast<double>(kRange) + 1)); }

  FakeHost host;
  LoadedModule module;
};

TEST_F(EnergyModuleTest, PowerAndEnergyAreWithinOnePercentOfTheCounters) {
  // Two packages, whose parts and the platform must not count again; the first one wraps around twice.
  const auto write = [&](double seconds) {
    const double first = 262'100e6 + 4000e6 * seconds + 400e6 * std::sin(seconds), second = 1e6 + 75e6 * seconds;
    Zone("intel-rapl:0", "package-0", Wrapped(first));
    Zone("intel-rapl:0:0", "core", Wrapped(first / 2));
    Zone("intel-rapl:0:1", "dram", Wrapped(first / 3));
    Zone("intel-rapl:1", "package-1", Wrapped(second));
    Zone("intel-rapl:2", "psys", Wrapped(first + second));
    Zone("intel-rapl-mmio:0", "package-0", Wrapped(first));
    return (first + second) * 1e-6;
  };
  const double begin = write(0);
  ASSERT_TRUE(module.Open()) << module.failure;
  double worst_energy = 0, worst_power = 0, before = begin;
  for (int i = 0; i <= 150; ++i) {
    const double direct = write(i);
    auto values = module.Refresh(5'000'000 * kMs + i * 1000 * kMs);
    if (i == 0) {
      EXPECT_EQ(values.count("power"), 0u);
      EXPECT_NEAR(values["energy"], 0, 1e-6);
      before = direct;
      continue;
    }
    ASSERT_EQ(values.size(), 2u);
    worst_energy = std::max(worst_energy, std::abs(values["energy"] / (direct - begin) - 1));
    worst_power = std::max(worst_power, std::abs(values["power"] / (direct - before) - 1));
    before = direct;
  }
  printf("150 refreshes, 3 wraparounds: worst error of energy %.5f %%, of power %.5f %%\n", 100 * worst_energy,
         100 * worst_power);
  EXPECT_LT(worst_energy, 0.01);
  EXPECT_LT(worst_power, 0.01);
  EXPECT_THAT(module.Dump(), HasSubstr("intel-rapl:0:1 dram: "));
  EXPECT_EQ(module.Dump(0), "");
  EXPECT_EQ(module.Metric(0, ATTUNE_METRIC_POWER).has_value(), true);
}

TEST_F(EnergyModuleTest, ThreadsShareEnergyByTheirTime) {
  Zone("intel-rapl:0", "package-0", 0);
  ASSERT_TRUE(module.Open());
  for (const int32_t tid : {1, 2}) module.Fork(LoadedModule::Thread(tid, 0));
  double sums[3]{};
  LoadedModule::Named last;
  for (int64_t i = 1; i <= 50; ++i) {
    for (const int32_t tid : {1, 2}) {
      last = module.OnSample(LoadedModule::Thread(tid, i * 100 * kMs), {}, (tid == 1 ? 75 : 25) * kMs);
      sums[tid] += last["energy-share"];
    }
    Zone("intel-rapl:0", "package-0", i * 5'000'000);  // 50 W
    EXPECT_NEAR(module.Refresh(i * 100 * kMs)["energy"], 5.0 * static_cast<double>(i), 1e-6);
  }
  // The parts of the last interval are not in a sample yet.
  EXPECT_NEAR(sums[1], 0.75 * 5 * 49, 1e-6);
  EXPECT_NEAR(sums[2], 0.25 * 5 * 49, 1e-6);
  EXPECT_NEAR(last["edp"], sums[2] * 5, 1e-6);
  EXPECT_NEAR(*module.Metric(1, ATTUNE_METRIC_ENERGY), 0.75 * 5 * 50, 1e-6);
  // A thread that ends has the part of what it ran since, too: 25 ms at 50 J a second of CPU time.
  const auto exit = module.OnSample(LoadedModule::Thread(2, 5100 * kMs), {}, 25 * kMs, ATTUNE_SAMPLE_EXIT);
  EXPECT_NEAR(exit.at("energy-share"), 2 * 0.25 * 5, 1e-6);
  module.Free(LoadedModule::Thread(2));
  EXPECT_EQ(module.Metric(2, ATTUNE_METRIC_ENERGY), std::nullopt);
  // Time that is not known gives no part.
  module.OnSample(LoadedModule::Thread(3, 5100 * kMs), {}, -1);
  module.Refresh(5200 * kMs);
  EXPECT_EQ(module.OnSample(LoadedModule::Thread(3, 5200 * kMs), {}, -1)["energy-share"], 0);
}

TEST_F(EnergyModuleTest, HwmonPowerIsIntegrated) {
  const std::string chip = "/sys/class/hwmon/hwmon1/";
  const auto write = [&](double seconds) {
    const double watts = 60 + 20 * std::sin(seconds);
    host.Write(chip + "power1_input", std::to_string(static_cast<int64_t>(watts * 1e6)) + "\n");
    return watts + 5;
  };
  host.Write(chip + "name", "ina3221\n")
      .Write(chip + "power2_input", "5000000\n")
      .Write(chip + "power1_max", "500000000\n")
      .Write("/sys/class/hwmon/hwmon0/temp1_input", "50000\n");
  write(0);
  ASSERT_TRUE(module.Open()) << module.failure;
  double worst_energy = 0, worst_power = 0;
  double before = write(0);
  module.Refresh(1000 * kMs);
  for (int i = 1; i <= 300; ++i) {
    const double seconds = 0.1 * i, watts = write(seconds);
    auto values = module.Refresh(1000 * kMs + i * 100 * kMs);
    const double exact = 65 * seconds + 20 * (1 - std::cos(seconds));
    worst_energy = std::max(worst_energy, std::abs(values["energy"] / exact - 1));
    worst_power = std::max(worst_power, std::abs(values["power"] / ((watts + before) / 2) - 1));
    before = watts;
  }
  printf("hwmon power, 300 refreshes: worst error of energy %.5f %%, of power %.5f %%\n", 100 * worst_energy,
         100 * worst_power);
  EXPECT_LT(worst_energy, 0.01);
  EXPECT_LT(worst_power, 0.01);
}

TEST_F(EnergyModuleTest, HwmonCountersOfSocketsHaveTheirCoresInThem) {
  const std::string chip = "/sys/class/hwmon/hwmon3/";
  host.Write(chip + "name", "amd_energy\n")
      .Write(chip + "energy1_label", "Ecore000\n")
      .Write(chip + "energy1_input", "1000\n")
      .Write(chip + "energy2_label", "Esocket0\n")
      .Write(chip + "energy2_input", "2000\n")
      .Write(chip + "power1_input", "9000000\n");
  ASSERT_TRUE(module.Open()) << module.failure;
  module.Refresh(0);
  host.Write(chip + "energy1_input", "3001000\n").Write(chip + "energy2_input", "4002000\n");
  auto values = module.Refresh(1000 * kMs);
  EXPECT_NEAR(values["energy"], 4, 1e-6);
  EXPECT_NEAR(values["power"], 4, 1e-6);
}

TEST_F(EnergyModuleTest, GarbageIsAGap) {
  Zone("intel-rapl:0", "package-0", 1'000'000);
  Zone("intel-rapl:garbage", "", 1);
  ASSERT_TRUE(module.Open());
  module.Refresh(0);
  Zone("intel-rapl:0", "package-0", 2'000'000);
  EXPECT_NEAR(module.Refresh(1000 * kMs)["power"], 1, 1e-6);
  int64_t t_ns = 1000 * kMs;
  for (const char* text :
       {"", "\n", "Error", "-5", "99999999999999999999999", "12x", "999999999999999", "\xff\xfe\x00"}) {
    host.Write("/sys/class/powercap/intel-rapl:0/energy_uj", text);
    auto values = module.Refresh(t_ns += 1000 * kMs);
    EXPECT_EQ(values.count("power"), 0u) << text;
    EXPECT_NEAR(values["energy"], 1, 1e-6) << text;
  }
  host.Remove("/sys/class/powercap/intel-rapl:0");
  EXPECT_NEAR(module.Refresh(t_ns += 1000 * kMs)["energy"], 1, 1e-6);
  Zone("intel-rapl:0", "package-0", 12'000'000);
  auto values = module.Refresh(t_ns += 1000 * kMs);
  EXPECT_NEAR(values["energy"], 11, 1e-6);  // with that of the gap
  EXPECT_EQ(values.count("power"), 0u);
  Zone("intel-rapl:0", "package-0", 15'000'000);
  EXPECT_NEAR(module.Refresh(t_ns += 1000 * kMs)["power"], 3, 1e-6);
}

TEST_F(EnergyModuleTest, SaysWhyThereIsNothing) {
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("no energy counters"));
  Zone("intel-rapl:0", "package-0", 5);
  host.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "no number");
  EXPECT_FALSE(module.Open());
  Zone("intel-rapl:0", "package-0", 5);
  const std::string file = host.Path("/sys/class/powercap/intel-rapl:0/energy_uj");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  if (access(file.c_str(), R_OK) == 0) GTEST_SKIP() << "root may read anything";
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("only root may read it"));
}

TEST_F(EnergyModuleTest, ThousandsOfThreadsAndBadTimes) {
  Zone("intel-rapl:0", "package-0", 0);
  ASSERT_TRUE(module.Open());
  for (int round = 1; round < 3; ++round) {
    for (int32_t tid = -10; tid < 70000; ++tid)
      module.OnSample(LoadedModule::Thread(tid, tid % 7 == 0 ? INT64_MAX : tid), {kNothing},
                      tid % 5 == 0 ? INT64_MAX : tid);
    Zone("intel-rapl:0", "package-0", round * 1'000'000);
    for (const auto& [name, value] : module.Refresh(round % 2 == 0 ? INT64_MIN : 0)) EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_THAT(module.Dump(), HasSubstr("65536 threads"));
}

TEST(EnergyModule, ThisMachine) {
  LoadedModule module("energy");
  if (!module.Open()) GTEST_SKIP() << module.failure;
  module.Refresh(0);
}

}  // namespace
}  // namespace attune::fakes
