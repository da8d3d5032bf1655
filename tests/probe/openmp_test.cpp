// OpenMP programs with the probe preloaded: they compute what they do without it, and what their threads did is counted
// exactly.

#include <gmock/gmock.h>

#include <set>

#include "sync_run.h"

namespace attune {
namespace {

using wire::SyncKind;

std::vector<std::string> OpenMp(const std::string& what, int threads, int times) {
  return {std::string(ATTUNE_PROBE_PROGRAMS) + "/openmp_program", what, std::to_string(threads), std::to_string(times)};
}

std::string OutputOf(const std::vector<std::string>& command, const Program::Environment& environment) {
  Program program(command, environment);
  EXPECT_TRUE(ExitedWell(program.Wait()));
  return program.Output();
}

class Cancellation : public testing::TestWithParam<const char*> {};

TEST_P(Cancellation, TheProgramComputesTheSame) {
  const auto command = OpenMp("all", 4, 200);
  const std::pair<std::string, std::string> cancellation = {"OMP_CANCELLATION", GetParam()};
  const std::string alone = OutputOf(command, {cancellation});
  EXPECT_THAT(alone, testing::HasSubstr("tasks 144 499500 200070000 "));
  const SyncFolder folder;
  Program::Environment observed = folder.Preloaded();
  observed.push_back(cancellation);
  EXPECT_EQ(OutputOf(command, observed), alone);
  EXPECT_EQ(OutputOf(command, {{"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}, cancellation}), alone);
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_GT(sums[SyncKind::kCritical].count, 0u);
  EXPECT_GT(sums[SyncKind::kTeamBarrier].contended, 0u);
  EXPECT_GT(sums[SyncKind::kTaskWait].count, 0u);
  EXPECT_GT(sums[SyncKind::kOrdered].count, 0u);
  for (auto& [name, reader] : collected.Readers()) {
    for (const track::RingModule& module : reader.TakeModules())
      EXPECT_THAT(module.path, testing::Not(testing::HasSubstr("libattune_probe")));
  }
}

INSTANTIATE_TEST_SUITE_P(OpenMp, Cancellation, testing::Values("false", "true"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OpenMp, EachEntryAndEachThreadOfATeamIsCountedOnce) {
  const SyncFolder folder;
  EXPECT_EQ(OutputOf(OpenMp("criticals", 3, 2000), folder.Preloaded()), "criticals 6000 6000 6000\n");
  Collected collected(folder);
  collected.Finish();
  std::set<int32_t> waiting;
  std::set<uint64_t> criticals;
  Sum critical, barrier;
  for (auto& [name, reader] : collected.Readers()) {
    for (const track::SyncDelta& delta : reader.TakeSync()) {
      Sum& sum = delta.kind == SyncKind::kCritical ? critical : barrier;
      sum.count += delta.count;
      sum.contended += delta.contended;
      sum.wait += delta.wait;
      if (delta.kind == SyncKind::kCritical) criticals.insert(delta.object);
      if (delta.kind == SyncKind::kTeamBarrier) waiting.insert(delta.tid);
    }
  }
  EXPECT_EQ(critical.count, 12'000u);
  EXPECT_EQ(criticals.size(), 2u) << "the one with a name and the one without";
  EXPECT_EQ(barrier.count, 3u);
  EXPECT_EQ(waiting.size(), 3u) << "at the end of the region, which only one of the threads sees";
}

TEST(OpenMp, WaitsOfATeamAreEventsOfItsThreads) {
  const SyncFolder folder;
  OutputOf(OpenMp("criticals", 3, 1), folder.Preloaded());
  Collected collected(folder);
  collected.Finish();
  std::map<int32_t, uint64_t> ticks;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind == wire::EventKind::kWait && record.b == static_cast<uint64_t>(SyncKind::kTeamBarrier))
      ticks[record.tid] += record.a;
  }
  EXPECT_EQ(ticks.size(), 3u);
  uint64_t sum = 0;
  for (const auto& [tid, wait] : ticks) sum += wait;
  EXPECT_EQ(sum, Sums(&collected)[SyncKind::kTeamBarrier].wait);
  EXPECT_EQ(collected.OutOfOrder(), 0u);
}

TEST(OpenMp, LocksAreCounted) {
  const SyncFolder folder;
  EXPECT_EQ(OutputOf(OpenMp("locks", 3, 1000), folder.Preloaded()), OutputOf(OpenMp("locks", 3, 1000), {}));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(Sums(&collected)[SyncKind::kMutex].count, 3u * 1000 * 3 + 3) << "and those by the tests at the end";
}

TEST(OpenMp, ARuntimeThatOnlyALibrarySeesIsItsOwn) {
  const SyncFolder folder;
  const std::string programs = ATTUNE_PROBE_PROGRAMS;
  const std::vector<std::string> command = {programs + "/sync_scenarios", "openmp_plugin",
                                            programs + "/openmp_plugin.so"};
  const std::string alone = OutputOf(command, {});
  EXPECT_EQ(alone, "3000\n");
  EXPECT_EQ(OutputOf(command, folder.Preloaded()), alone);
  EXPECT_EQ(OutputOf(command, {{"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}}), alone);
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_EQ(sums[SyncKind::kCritical].count, 3000u);
  EXPECT_EQ(sums[SyncKind::kTeamBarrier].count, 3u);
}

}  // namespace
}  // namespace attune
