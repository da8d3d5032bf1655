// More threads than CPUs, and other programs that have the CPUs: what that costs, and where it costs nothing.

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis::finding_scheduling_test {
namespace {

using model::ElementId;
using model::ElementKind;
using model::TimeState;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::SyncKind;

/// Threads on two CPUs, each of which runs for its part of a second and waits for a CPU for the rest.
struct CrowdedProgram : ProgramSource {
  explicit CrowdedProgram(int threads, int64_t run_ms = 250) : ProgramSource("solver", threads) {
    meta.info["cpus_online"] = "0-1";
    meta.processes.front().user_ns = threads * run_ms * kMs;
    meta.processes.front().system_ns = 0;
    if (threads > 0) meta.elements.at(static_cast<size_t>(thread.front()) - 1).name = "main";
    for (const ElementId id : thread) {
      const auto stream = AddStream(250 * kMs, {{id, "thread", "run", "ns"}, {id, "thread", "wait", "ns"}});
      for (int64_t t_ms = 200; t_ms <= 800; t_ms += 200)
        samples[stream].push_back({t_ms * kMs, {t_ms * run_ms * kMs / 1000, t_ms * (1000 - run_ms) * kMs / 1000}});
    }
  }
  /// All of them wait for each other, and do not sleep.
  void Spin(int64_t ms) {
    const ElementId barrier = Object("barrier 0x1");
    for (const ElementId id : thread) Wait(id, barrier, 0, SyncKind::kTeamBarrier, 0, ms);
  }
  std::vector<Finding> Findings() {
    auto judgement = JudgeProgram(*this);
    EXPECT_TRUE(judgement.ok());
    std::erase_if(judgement->findings, [](const Finding& finding) { return finding.kind.name == "wait-at-barrier"; });
    return std::move(judgement->findings);
  }
};

TEST(Oversubscription, IsNoneOfThreadsThatTakeTurnsWithoutHarm) {
  CrowdedProgram program(8);
  program.meta.processes.front().involuntary_switches = 2000;  // 10 ms
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(Oversubscription, IsWhatThreadsSpinWhileOthersHaveNoCpu) {
  CrowdedProgram program(8);
  program.Spin(600);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kOversubscription);
  // A thread runs for a quarter of its time, also of that in which it waits.
  EXPECT_THAT(static_cast<double>(findings[0].lost_ns), DoubleNear(8 * 150 * kMs, 10 * kMs));
  EXPECT_THAT(static_cast<double>(findings[0].gain_ns), DoubleNear(600 * kMs, 10 * kMs)) << "of two CPUs";
  EXPECT_THAT(findings[0].figures.at("runnable_threads"), DoubleNear(8, 0.1));
  EXPECT_THAT(findings[0].figures.at("queue_seconds"), DoubleNear(6, 0.1));
  EXPECT_EQ(findings[0].thread_count, 8);
  EXPECT_EQ(findings[0].evidence.back(), "they are called main") << "the others have no names";
  EXPECT_EQ(findings[0].object, 0u);
}

TEST(Oversubscription, IsNotOfThreadsThatHardlyRun) {
  CrowdedProgram program(9);
  program.Spin(600);
  auto& of_main = program.samples.begin()->second;
  for (auto& [t_ns, values] : of_main) values = {10 * kMs, 5 * kMs};
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].thread_count, 8);
}

TEST(Oversubscription, IsManyPreemptions) {
  CrowdedProgram program(8);
  program.meta.processes.front().involuntary_switches = 100'000;
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 500 * kMs);
}

TEST(OtherPrograms, AreNamedWhereTheyTakeTheCpus) {
  CrowdedProgram program(8, 23);  // 0.19 CPUs are all that it gets
  program.Spin(600);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1)) << "no oversubscription";
  EXPECT_EQ(findings[0].kind.name, "other-programs");
  EXPECT_THAT(findings[0].evidence.back(), HasSubstr("for a CPU that other programs had"));
}

TEST(OtherPrograms, HadWhatTheSchedulerSaysThatTheyHad) {
  CrowdedProgram program(2, 500);
  const ElementId cpu = program.AddElement(ElementKind::kCpu, "cpu", 0, 0);
  for (const ElementId id : program.thread) {
    program.State(id, TimeState::kRunning, 500);
    program.State(id, TimeState::kQueuedOthers, 400);
    program.State(id, TimeState::kQueuedProgram, 100);
  }
  program.State(cpu, TimeState::kProgram, 400);
  program.State(cpu, TimeState::kOthers, 600);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 800 * kMs);
  EXPECT_DOUBLE_EQ(findings[0].figures.at("others_cpu_seconds"), 0.6);
}

TEST(OtherPrograms, AreNotAttuneItself) {
  CrowdedProgram program(2, 500);
  const ElementId cpu = program.AddElement(ElementKind::kCpu, "cpu", 0, 0);
  const ElementId machine = program.AddElement(ElementKind::kMachine, "box");
  for (const ElementId id : program.thread) {
    program.State(id, TimeState::kRunning, 500);
    program.State(id, TimeState::kQueuedOthers, 400);
  }
  program.State(cpu, TimeState::kProgram, 400);
  program.State(cpu, TimeState::kOthers, 600);
  const auto stream = program.AddStream(1000 * kMs, {{machine, "attune", "session_cpu", "ns"}});
  program.samples[stream].push_back({500 * kMs, {300 * kMs}});
  const auto half = program.Findings();
  ASSERT_THAT(half, SizeIs(1));
  EXPECT_EQ(half[0].lost_ns, 400 * kMs);
  EXPECT_DOUBLE_EQ(half[0].figures.at("others_cpu_seconds"), 0.3);
  program.samples[stream].push_back({900 * kMs, {600 * kMs}});
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(OtherPrograms, AreNoneOnAFreeMachine) {
  CrowdedProgram program(2, 990);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

}  // namespace
}  // namespace attune::analysis::finding_scheduling_test
