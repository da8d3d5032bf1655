// What threads did with their time, from rows that were written down here.

#include "analysis/account/account.h"

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "analysis/report/summary.h"
#include "program_source.h"

namespace attune::analysis::account_test {
namespace {

using model::ElementId;
using model::TimeState;
using testing::HasSubstr;
using testing::SizeIs;
using wire::SyncKind;

std::map<std::string, double> LinesOf(const ThreadAccount& account) {
  std::map<std::string, double> lines;
  for (const AccountLine& line : account.lines) lines[std::string(line.name)] += line.ns / kMs;
  return lines;
}

struct Program : ProgramSource {
  Program() : ProgramSource("solver", 0), lock(Object("mutex 0x1")), join(Object("join 0x2")) {}
  ElementId Cpu(int64_t number) { return AddElement(model::ElementKind::kCpu, "cpu", 0, number); }
  void State(ElementId element, TimeState state, int64_t ms, int64_t alone_ms = 0, int64_t idle_cpus_ms = 0) {
    state_times.push_back({.t_ns = 1000 * kMs,
                           .element = element,
                           .state = state,
                           .ns = ms * kMs,
                           .count = 1,
                           .alone_ns = alone_ms * kMs,
                           .idle_cpus_ns = idle_cpus_ms * kMs});
  }
  Account Of() { return JudgeProgram(*this)->account; }

  ElementId lock, join;
};

TEST(Account, OfAThreadIsItsLife) {
  Program program;
  const ElementId thread = program.AddThread(100, "worker");
  program.State(thread, TimeState::kRunning, 300, 200, 250);
  program.State(thread, TimeState::kQueuedOthers, 50);
  program.State(thread, TimeState::kFutex, 600);
  program.State(thread, TimeState::kPipe, 40);
  program.Wait(thread, program.lock, 0, SyncKind::kMutex, 0, 400);
  program.Wait(thread, program.join, 0, SyncKind::kJoin, 400, 500);
  const Account account = program.Of();
  ASSERT_THAT(account.threads, SizeIs(1));
  EXPECT_TRUE(account.is_exact);
  EXPECT_THAT(
      LinesOf(account.threads[0]),
      (std::map<std::string, double>{
          {"running", 300}, {"queued_others", 50}, {"lock", 400}, {"join", 100}, {"futex", 100}, {"pipe", 40}}));
  EXPECT_DOUBLE_EQ(account.threads[0].unknown_ns, 10 * kMs);
  EXPECT_DOUBLE_EQ(account.threads[0].alone_ns, 200 * kMs);
  EXPECT_THAT(ToJson(*Summarise(program)), HasSubstr("\"queued_others\": 0.05"));
}

TEST(Account, OfWaitsThatSpunOrQueuedIsNoMoreThanTheSleep) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.State(thread, TimeState::kRunning, 700);
  program.State(thread, TimeState::kFutex, 300);
  program.Wait(thread, program.lock, 0, SyncKind::kMutex, 0, 450);
  program.Wait(thread, program.join, 0, SyncKind::kJoin, 450, 600);
  EXPECT_THAT(LinesOf(program.Of().threads.at(0)),
              (std::map<std::string, double>{{"running", 700}, {"lock", 225}, {"join", 75}}));
}

TEST(Account, HasEachNameOnce) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.State(thread, TimeState::kRunning, 100);
  program.State(thread, TimeState::kFutex, 500);
  program.State(thread, TimeState::kSleep, 400);
  program.Wait(thread, program.lock, 0, SyncKind::kFutex, 0, 300);
  program.Wait(thread, program.join, 0, SyncKind::kSleep, 300, 700);
  const Account account = program.Of();
  EXPECT_THAT(account.threads.at(0).lines, SizeIs(3));
  EXPECT_THAT(LinesOf(account.threads[0]),
              (std::map<std::string, double>{{"running", 100}, {"futex", 500}, {"sleep", 400}}));
  EXPECT_THAT(ToJson(*Summarise(program)), HasSubstr("\"futex\": 0.5"));
}

TEST(Account, OfSpinLocksIsRunning) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.State(thread, TimeState::kRunning, 700);
  program.State(thread, TimeState::kFutex, 300);
  program.Wait(thread, program.lock, 0, SyncKind::kSpinLock, 0, 600);
  program.Wait(thread, program.join, 0, SyncKind::kJoin, 600, 900);
  EXPECT_THAT(LinesOf(program.Of().threads.at(0)), (std::map<std::string, double>{{"running", 700}, {"join", 300}}));
}

TEST(Account, OfTheCpusIsTheirTime) {
  Program program;
  const ElementId one = program.AddThread(100), other = program.AddThread(101);
  program.State(one, TimeState::kRunning, 900, 600, 600);
  program.State(other, TimeState::kRunning, 300, 0, 0);
  program.State(1, TimeState::kNoThread, 100);
  for (const auto& [ran, others, idle] : {std::tuple(700, 100, 200), std::tuple(500, 100, 400)}) {
    const ElementId cpu = program.Cpu(ran);
    program.State(cpu, TimeState::kProgram, ran);
    program.State(cpu, TimeState::kOthers, others);
    program.State(cpu, TimeState::kIdle, idle);
  }
  const Account account = program.Of();
  EXPECT_EQ(account.cpus.cpus, 2);
  EXPECT_DOUBLE_EQ(account.cpus.CapacityNs(), 2000 * kMs);
  EXPECT_DOUBLE_EQ(account.cpus.program_ns, 1200 * kMs);
  EXPECT_DOUBLE_EQ(account.cpus.unknown_ns, 0);
  // Of what the program left, 800 ms, thread `one` had 600 and nobody 200; 600 ms of it were idle.
  EXPECT_DOUBLE_EQ(account.threads.at(0).idle_ns, 450 * kMs);
}

TEST(Account, WithoutSwitchesIsOfTheKernelsSums) {
  Program program;
  const ElementId thread = program.AddThread(100);
  const auto stream = program.AddStream(250 * kMs, {{thread, "thread", "run", "ns"}, {thread, "thread", "wait", "ns"}});
  program.samples[stream] = {{1000 * kMs, {400 * kMs, 100 * kMs}}};
  program.Wait(thread, program.lock, 0, SyncKind::kMutex, 0, 300);
  const Account account = program.Of();
  EXPECT_FALSE(account.is_exact);
  EXPECT_THAT(LinesOf(account.threads.at(0)),
              (std::map<std::string, double>{{"running", 400}, {"queued", 100}, {"lock", 300}}));
  EXPECT_DOUBLE_EQ(account.threads.at(0).unknown_ns, 200 * kMs);
}

TEST(Account, WithoutSwitchesKnowsSleepsByHooksAndGivesCallsTheRest) {
  Program program;
  const ElementId thread = program.AddThread(100);
  const auto stream = program.AddStream(250 * kMs, {{thread, "thread", "run", "ns"}, {thread, "thread", "wait", "ns"}});
  program.samples[stream] = {{1000 * kMs, {500 * kMs, 0}}};
  program.Wait(thread, program.lock, 0, SyncKind::kSleep, 0, 300);
  program.Wait(thread, program.join, 0, SyncKind::kPoll, 300, 400);
  // It looked again and again in these, most of the time.
  program.Wait(thread, program.join, 0, SyncKind::kMpi, 400, 900);
  const Account account = program.Of();
  EXPECT_THAT(
      LinesOf(account.threads.at(0)),
      (std::map<std::string, double>{{"running", 500}, {"queued", 0}, {"sleep", 300}, {"poll", 100}, {"MPI", 100}}));
}

TEST(Account, OfAThreadWithoutSamplesIsOfItsWaits) {
  Program program;
  const ElementId sampled = program.AddThread(100), brief = program.AddThread(101);
  const auto stream =
      program.AddStream(250 * kMs, {{sampled, "thread", "run", "ns"}, {sampled, "thread", "wait", "ns"}});
  program.samples[stream] = {{1000 * kMs, {1000 * kMs, 0}}};
  program.Wait(brief, program.lock, 0, SyncKind::kSleep, 0, 600);
  const auto account = program.Of();
  const auto found = std::ranges::find(account.threads, brief, &ThreadAccount::thread);
  ASSERT_NE(found, account.threads.end());
  EXPECT_THAT(LinesOf(*found), (std::map<std::string, double>{{"sleep", 600}}));
  EXPECT_DOUBLE_EQ(found->unknown_ns, 400 * kMs);
}

TEST(Account, ThatEndedBeforeTheProgramIsOfTheKernelsSums) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.State(thread, TimeState::kRunning, 100);
  program.meta.info["time_account_stopped"] = "150000000";
  const auto stream = program.AddStream(250 * kMs, {{thread, "thread", "run", "ns"}, {thread, "thread", "wait", "ns"}});
  program.samples[stream] = {{1000 * kMs, {700 * kMs, 300 * kMs}}};
  const Account account = program.Of();
  EXPECT_FALSE(account.is_exact);
  EXPECT_THAT(LinesOf(account.threads.at(0)), (std::map<std::string, double>{{"running", 700}, {"queued", 300}}));
}

}  // namespace
}  // namespace attune::analysis::account_test
