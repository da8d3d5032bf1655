// Time that cores lose while threads run, from counts that were written down here: as processors give them that this
// machine need not have.

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::SizeIs;

/// Two threads that run for a second each, at 3 GHz.
struct Program : ProgramSource {
  Program() : ProgramSource("solver", 2) {
    meta.info["cpus_online"] = "0-1";
    for (size_t i = 0; i < 2; ++i) {
      Count(i, "task-clock", 1000 * kMs);
      Count(i, "cycles:u", 3'000'000'000);
      const model::ElementId site = Place("solver+sweep", {{.line = 7 + static_cast<int64_t>(i),
                                                            .function = i == 0 ? "sweep" : "smooth",
                                                            .file = "solver.c",
                                                            .module = "/bin/solver"}});
      stack_rows.push_back({static_cast<int64_t>(i) + 1, 0, site});
      for (int64_t t = 0; t < 100; ++t)
        cpu_samples.push_back({t * 10 * kMs, thread[i], static_cast<int64_t>(i), site, stack_rows.back().id, 10 * kMs});
    }
  }
  void Count(size_t who, const std::string& event, int64_t count) {
    thread_counts.push_back({.t_ns = 1000 * kMs, .element = thread[who], .event = event, .count = count});
  }
  std::vector<Finding> Findings() {
    auto judged = JudgeProgram(*this);
    EXPECT_TRUE(judged.ok());
    std::erase_if(judged->findings, [](const Finding& finding) { return !finding.kind.name.ends_with("-bound"); });
    return std::move(judged->findings);
  }
};

TEST(CacheBound, IsWhatTheProcessorCountsAsStalled) {
  Program program;
  program.Count(0, "CYCLE_ACTIVITY.STALLS_MEM_ANY", 1'500'000'000);
  program.Count(1, "CYCLE_ACTIVITY.STALLS_MEM_ANY", 300'000'000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind.name, "cache-bound");
  EXPECT_EQ(findings[0].lost_ns, 600 * kMs);
  EXPECT_EQ(findings[0].confidence, Confidence::kHigh);
  EXPECT_THAT(findings[0].figures.at("part_of_cpu_time"), DoubleNear(0.3, 1e-9));
  EXPECT_EQ(findings[0].site.file, "solver.c");
  EXPECT_EQ(findings[0].threads.front().lost_ns, 500 * kMs) << "the thread with most of it comes first";
}

TEST(CacheBound, IsEstimatedFromMisses) {
  Program program;
  program.Count(0, "LLC-load-misses", 10'000'000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind.name, "cache-bound");
  EXPECT_EQ(findings[0].lost_ns, 800 * kMs) << "80 ns each";
  EXPECT_EQ(findings[0].confidence, Confidence::kLow);
  EXPECT_THAT(findings[0].evidence.back(), HasSubstr("80 ns each"));
}

TEST(CacheBound, IsNoMoreThanTheCoreWaits) {
  Program program;
  program.Count(0, "cache-misses", 10'000'000);
  program.Count(0, "stalled-cycles-backend", 1'500'000'000);
  ASSERT_THAT(program.Findings(), SizeIs(1));
  EXPECT_EQ(program.Findings()[0].lost_ns, 500 * kMs);
}

TEST(CacheBound, IsNothingOfProgramsThatSeldomMiss) {
  Program program;
  program.Count(0, "LLC-load-misses", 1'000'000);
  EXPECT_THAT(program.Findings(), SizeIs(0)) << "8 % of a thread, 4 % of the process";
}

TEST(BandwidthBound, IsWhereReadsAreUnderWayAllTheTime) {
  Program program;
  for (size_t i = 0; i < 2; ++i) program.Count(i, "LLC-load-misses", 50'000'000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind.name, "bandwidth-bound");
  EXPECT_THAT(findings[0].figures.at("bytes_per_second"), DoubleNear(6.4e9, 1));
  EXPECT_EQ(findings[0].lost_ns, 2000 * kMs) << "never more than the CPU time";
}

TEST(BranchBound, IsEstimatedFromWrongPredictions) {
  Program program;
  program.Count(1, "branch-misses", 60'000'000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind.name, "branch-bound");
  EXPECT_EQ(findings[0].lost_ns, 300 * kMs) << "15 cycles each, at 3 GHz";
  EXPECT_EQ(findings[0].site.function, "smooth");
}

TEST(BranchBound, IsWhatSlotsWereUsedFor) {
  Program program;
  for (const auto& [event, slots] : {std::pair("topdown-retiring", 500), std::pair("topdown-bad-spec", 250),
                                     std::pair("topdown-fe-bound", 150), std::pair("topdown-be-bound", 100)})
    program.Count(0, event, slots * 1'000'000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 250 * kMs);
  EXPECT_EQ(findings[0].confidence, Confidence::kHigh);
}

}  // namespace
}  // namespace attune::analysis
