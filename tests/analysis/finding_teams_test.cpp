// Findings about teams of OpenMP, from rows that were written down here.

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis::finding_teams_test {
namespace {

using model::ElementId;
using testing::HasSubstr;
using testing::SizeIs;
using wire::SyncKind;

/// A machine with two CPUs.
struct Team : ProgramSource {
  explicit Team(int threads = 2) : ProgramSource("solver", threads) {
    meta.info["cpus_online"] = "0-1";
    meta.processes.front().user_ns = 1200 * kMs;
    meta.processes.front().system_ns = 0;
    site = Place("solver+region", {{.line = 40, .function = "region", .file = "solver.c", .module = "/bin/solver"}});
  }
  void WaitNs(ElementId who, ElementId object, SyncKind kind, int64_t start_ns, int64_t end_ns) {
    events.push_back(
        {end_ns, who, wire::EventKind::kWait, object, end_ns - start_ns, site, static_cast<int64_t>(kind)});
    sync.push_back({end_ns, who, object, site, kind, 1, 1, end_ns - start_ns, 0, 0});
  }
  /// Ten times one of two threads has no task for a part of 100 ms.
  void WaitForTasks(int64_t ms) {
    const ElementId tasks = Object("OpenMP task wait 0x3");
    for (int64_t i = 0; i < 10; ++i)
      Wait(thread[static_cast<size_t>(i % 2)], tasks, site, SyncKind::kTaskWait, 100 * i + 100 - ms, 100 * i + 100);
  }
  void Queued(size_t who, int64_t queue_ms) {
    const auto stream = AddStream(0, {{thread[who], "thread", "run", "ns"}, {thread[who], "thread", "wait", "ns"}});
    samples[stream] = {{1000 * kMs, {200 * kMs, queue_ms * kMs}}};
  }
  std::vector<Finding> Findings() {
    auto judgement = JudgeProgram(*this);
    EXPECT_TRUE(judgement.ok());
    std::erase_if(judgement->findings, [](const Finding& finding) { return finding.kind.of_others; });
    return std::move(judgement->findings);
  }
  ElementId site;
};

TEST(Tasks, OfWhichOneIsLongAreImbalance) {
  Team team;
  team.WaitForTasks(80);
  const auto findings = team.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLoadImbalance);
  EXPECT_EQ(findings[0].lost_ns, 800 * kMs);
  EXPECT_EQ(findings[0].site.function, "region");
  EXPECT_THAT(findings[0].advice, HasSubstr("smaller tasks"));
}

TEST(Tasks, OneAfterTheOtherAreSerialisation) {
  Team team;
  team.WaitForTasks(99);
  const auto findings = team.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kSerialisation);
}

TEST(Tasks, ThatFoundNoCpuAreNone) {
  Team team;
  team.WaitForTasks(60);
  EXPECT_THAT(team.Findings(), SizeIs(1));
  team.Queued(0, 600);
  team.Queued(1, 600);
  for (const Finding& finding : team.Findings()) EXPECT_NE(finding.kind, FindingClass::kLoadImbalance);
}

/// Two threads meet, and the second one comes last. @param wait_us of the first one
std::vector<Finding> FindingsOfRegions(int64_t period_us, int64_t wait_us) {
  Team team;
  const ElementId barrier = team.Object("OpenMP barrier 0x2");
  for (int64_t end_ns = period_us * 1000; end_ns <= 950 * kMs; end_ns += period_us * 1000) {
    team.WaitNs(team.thread[0], barrier, SyncKind::kTeamBarrier, end_ns - wait_us * 1000, end_ns);
    team.WaitNs(team.thread[1], barrier, SyncKind::kTeamBarrier, end_ns - 1, end_ns);
  }
  return team.Findings();
}

// The one that begins a region comes first, since the others have to be woken.
TEST(TinyRegions, AreNoImbalanceWhereTheLateThreadIsStartedLast) {
  const auto findings = FindingsOfRegions(100, 60);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kWaitAtBarrier);
  EXPECT_THAT(findings[0].advice, HasSubstr("OMP_NUM_THREADS=1"));
}

TEST(TinyRegions, AreImbalanceWhereOneThreadHasLongToWait) {
  const auto findings = FindingsOfRegions(300, 250);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLoadImbalance);
}

/// Four threads on two CPUs meet ten times; each round another one is last. @param queue_ms of each thread
std::vector<Finding> FindingsOfCrowd(int64_t queue_ms) {
  Team team(4);
  team.meta.processes.front().user_ns = 700 * kMs;
  const ElementId barrier = team.Object("OpenMP barrier 0x2");
  for (int64_t round = 0; round < 10; ++round) {
    for (int64_t i = 0; i < 4; ++i)
      team.Wait(team.thread[static_cast<size_t>(i)], barrier, team.site, SyncKind::kTeamBarrier,
                100 * round + (i == round % 4 ? 99 : 40), 100 * round + 100);
  }
  for (size_t i = 0; i < 4; ++i) team.Queued(i, queue_ms);
  return team.Findings();
}

TEST(Crowd, ThatWaitsForItsOwnCpusWaitsAtNoBarrier) {
  const auto is_barrier = [](const Finding& finding) { return finding.kind == FindingClass::kWaitAtBarrier; };
  EXPECT_THAT(FindingsOfCrowd(100), testing::Contains(testing::Truly(is_barrier)));
  EXPECT_THAT(FindingsOfCrowd(400), testing::Not(testing::Contains(testing::Truly(is_barrier))));
}

}  // namespace
}  // namespace attune::analysis::finding_teams_test
