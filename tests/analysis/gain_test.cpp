// Gain: how much shorter a run could be without a finding, and the order and silence that follow from it.

#include "analysis/findings/gain.h"

#include <gmock/gmock.h>

#include "program_source.h"

namespace attune::analysis::gain_test {
namespace {

using model::ElementId;
using testing::ElementsAre;
using testing::SizeIs;

constexpr FindingClass kWaits{"waits", "for a test"};
constexpr FindingClass kBurns{"burns", "for a test", false, Cost::kCpuTime};
constexpr FindingClass kWrong{"wrong", "for a test", false, Cost::kCorrectness};
constexpr FindingClass kHangs{"hangs", "for a test", false, Cost::kHang};

/// A second on two CPUs, by one process or more.
struct Program : ProgramSource {
  explicit Program(int64_t cpu_ms) : ProgramSource("solver", 2) {
    meta.info["cpus_online"] = "0-1";
    SetCpu(0, cpu_ms);
  }
  void SetCpu(size_t which, int64_t cpu_ms) {
    meta.processes.at(which).user_ns = cpu_ms * kMs;
    meta.processes.at(which).system_ns = 0;
  }
  void AddProcess(int64_t cpu_ms) {
    process = AddElement(model::ElementKind::kProcess, "other", 0, 200);
    meta.processes.push_back({.id = process, .pid = 200, .start_ns = 0, .end_ns = 1000 * kMs});
    SetCpu(meta.processes.size() - 1, cpu_ms);
    AddThread(200);
  }
  Finding About(const FindingClass& kind, int64_t lost_ms, size_t who = 0) const {
    Finding finding{.kind = kind, .lost_ns = lost_ms * kMs};
    finding.threads.push_back({.id = thread.at(who), .lost_ns = finding.lost_ns});
    return finding;
  }
  std::vector<ThreadAccount> accounts;
  template <class Use>
  auto With(Use use) {
    WaitTables waits;
    waits.lives = FindThreadLives(meta, 1000 * kMs, {});
    waits.thread_ns = TotalNs(waits.lives);
    const SiteNames names(meta, {});
    const AskedOperators asked;
    FindingInput input(meta, waits, names, asked);
    input.account.threads = accounts;
    return use(input);
  }
  int64_t GainMs(const Finding& finding) {
    return With([&](const FindingInput& input) { return BoundGain(input, finding); }) / kMs;
  }
  std::vector<std::string_view> Ranked(std::vector<Finding> findings) {
    With([&](const FindingInput& input) {
      RankByGain(input, findings);
      return 0;
    });
    std::vector<std::string_view> names;
    for (const Finding& finding : findings) names.push_back(finding.kind.name);
    return names;
  }
};

TEST(Gain, IsNoMoreThanTheLossAndThanTheWorkLeaves) {
  Program program(1000);
  EXPECT_EQ(program.GainMs(program.About(kWaits, 200)), 200);
  EXPECT_EQ(program.GainMs(program.About(kWaits, 900)), 500) << "a second of work needs half a second of two CPUs";
  program.SetCpu(0, 2000);
  EXPECT_EQ(program.GainMs(program.About(kWaits, 900)), 0) << "all CPUs worked all the time";
}

TEST(Gain, IsBoundedByTheWorkOfOtherProcessesToo) {
  Program program(500);
  program.AddProcess(1300);
  EXPECT_EQ(program.GainMs(program.About(kWaits, 900)), 100);
}

TEST(Gain, OfWhatIsAboutNoProcessIsBoundedByAll) {
  Program program(1000);
  Finding finding{.kind = kWaits, .lost_ns = 900 * kMs};
  EXPECT_EQ(program.GainMs(finding), 500);
  finding.threads.push_back(
      {.id = program.AddElement(model::ElementKind::kRank, "rank 0", 0, 0), .lost_ns = 900 * kMs});
  EXPECT_EQ(program.GainMs(finding), 500);
}

TEST(Gain, OfCpuTimeIsThatOfTheCpusInUse) {
  Program program(2000);
  EXPECT_EQ(program.GainMs(program.About(kBurns, 600)), 300);
  program.SetCpu(0, 800);
  EXPECT_EQ(program.GainMs(program.About(kBurns, 600)), 600) << "of one thread at a time";
}

TEST(Gain, OfWaitsThatSpinCountsWhatWasSpunAsNoWork) {
  Program program(2000);
  program.accounts.push_back({.thread = program.thread[0], .life_ns = 1000 * kMs, .running_ns = 1000 * kMs});
  EXPECT_EQ(program.GainMs(program.About(kWaits, 600)), 300) << "1.4 s of work";
  program.accounts[0].running_ns = 400 * kMs;
  EXPECT_EQ(program.GainMs(program.About(kWaits, 600)), 0) << "it slept";
}

TEST(Gain, RanksAndSilences) {
  Program program(1000);
  Finding small = program.About(kWaits, 900);
  small.gain_ns = 100 * kMs;  // its class knows better
  EXPECT_THAT(program.Ranked({small, program.About(kWrong, 0), program.About(kBurns, 400), program.About(kHangs, 10)}),
              ElementsAre("hangs", "burns", "waits", "wrong"));
  small.gain_ns = 9 * kMs;
  EXPECT_THAT(program.Ranked({small}), SizeIs(0)) << "less than two runs differ by";
  program.SetCpu(0, 2000);
  EXPECT_THAT(program.Ranked({program.About(kWaits, 900)}), SizeIs(0));
}

}  // namespace
}  // namespace attune::analysis::gain_test
