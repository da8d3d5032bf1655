// Time that cores lose while threads run, from counts that were written down here: as processors give them that this
// machine need not have.

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis::finding_pipeline_test {
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

/// A thread that does the same work in each of eight seconds; in the last four of them another one reads from memory.
struct TwoAtMemory : ProgramSource {
  TwoAtMemory(int64_t cycles_with, int64_t misses_with) : ProgramSource("solver", 2) {
    meta.info["cpus_online"] = "0-1";
    for (int64_t second = 0; second < 8; ++second) {
      const bool with = second >= 4;
      Count(0, second, "cycles", with ? cycles_with : 2'000'000'000);
      Count(0, second, "instructions", 1'000'000'000);
      Count(0, second, "cache-misses", with ? misses_with : 5'000'000);
      Count(0, second, "task-clock", 1000 * kMs);
      if (!with) continue;
      Count(1, second, "cycles", 3'000'000'000);
      Count(1, second, "instructions", 1'000'000'000);
      Count(1, second, "cache-misses", 9'000'000);
      Count(1, second, "task-clock", 1000 * kMs);
    }
  }
  void Count(size_t who, int64_t second, const std::string& event, int64_t count) {
    thread_counts.push_back({.t_ns = second * 1000 * kMs + 10, .element = thread[who], .event = event, .count = count});
  }
  std::vector<Finding> Findings() {
    auto judged = JudgeProgram(*this);
    EXPECT_TRUE(judged.ok());
    std::erase_if(judged->findings, [](const Finding& finding) { return finding.kind.name != "memory-contention"; });
    return std::move(judged->findings);
  }
};

TEST(MemoryContention, IsTheSameWorkThatTakesMoreCyclesBesideOthers) {
  const auto findings = TwoAtMemory(3'000'000'000, 5'200'000).Findings();
  ASSERT_THAT(findings, SizeIs(1));
  // Of 20 000 million cycles in 8 s a third of 12 000 million.
  EXPECT_THAT(static_cast<double>(findings[0].lost_ns), DoubleNear(8000.0 * kMs * 4 / 20, 1.0 * kMs));
  ASSERT_THAT(findings[0].threads, SizeIs(1));
  EXPECT_THAT(findings[0].evidence.back(), HasSubstr("13 % of the CPU time")) << "1.6 of 12 s";
}

TEST(MemoryContention, IsNotWhereTheWorkIsAnotherOrAsFast) {
  EXPECT_THAT(TwoAtMemory(2'200'000'000, 5'200'000).Findings(), SizeIs(0)) << "a tenth slower";
  EXPECT_THAT(TwoAtMemory(3'000'000'000, 9'000'000).Findings(), SizeIs(0)) << "it misses more often itself";
}

TEST(MemoryContention, NeedsSecondsOfBothKinds) {
  TwoAtMemory program(3'000'000'000, 5'200'000);
  std::erase_if(program.thread_counts, [](const model::ThreadCount& row) { return row.t_ns < 3000 * kMs; });
  EXPECT_THAT(program.Findings(), SizeIs(0)) << "one second without others says nothing";
}

}  // namespace
}  // namespace attune::analysis::finding_pipeline_test
