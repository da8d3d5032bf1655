// OpenMP programs with the probe preloaded: they compute what they do without it, and what their threads did is counted
// exactly.

#include <gmock/gmock.h>
#include <unistd.h>

#include <set>
#include <tuple>

#include "sync_run.h"

namespace attune::openmp_test {
namespace {

using wire::SyncKind;

std::string Path(const std::string& program) { return std::string(ATTUNE_PROBE_PROGRAMS) + "/" + program; }

/// What GCC compiled, and what clang did, for LLVM's runtime.
const char* const kPrograms[] = {"openmp_program", "openmp_program_llvm"};

std::vector<std::string> OpenMp(const std::string& program, const std::string& what, int threads, int times) {
  return {Path(program), what, std::to_string(threads), std::to_string(times)};
}

std::string OutputOf(const std::vector<std::string>& command, const Program::Environment& environment) {
  Program program(command, environment);
  EXPECT_TRUE(ExitedWell(program.Wait()));
  return program.Output();
}

#define ATTUNE_NEEDS(program)                                                           \
  if (::access(Path(program).c_str(), X_OK) != 0)                                       \
  GTEST_SKIP() << program << " is not built: GCC's are by GCC, LLVM's by a clang with " \
               << "OpenMP (libomp-19-dev)"

class Cancellation : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Cancellation, TheProgramComputesTheSame) {
  const auto [program, is_enabled] = GetParam();
  ATTUNE_NEEDS(program);
  const auto command = OpenMp(program, "all", 4, 200);
  const std::pair<std::string, std::string> cancellation = {"OMP_CANCELLATION", is_enabled};
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

using Case = std::tuple<const char*, const char*>;
// LLVM's runtime (14, 19) does not come back from what the program cancels, whoever looks on or does not.
INSTANTIATE_TEST_SUITE_P(OpenMp, Cancellation,
                         testing::Values(Case("openmp_program", "false"), Case("openmp_program", "true"),
                                         Case("openmp_program_llvm", "false")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

class EachOpenMp : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ATTUNE_NEEDS(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(OpenMp, EachOpenMp, testing::ValuesIn(kPrograms),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EachOpenMp, EachEntryAndEachThreadOfATeamIsCountedOnce) {
  const SyncFolder folder;
  EXPECT_EQ(OutputOf(OpenMp(GetParam(), "criticals", 3, 2000), folder.Preloaded()), "criticals 6000 6000 6000\n");
  Collected collected(folder);
  collected.Finish();
  std::set<int32_t> waiting;
  std::set<uint64_t> criticals;
  Sum critical, barrier;
  for (auto& [name, reader] : collected.Readers()) {
    for (const track::SyncDelta& delta : reader.TakeSync()) {
      if (delta.kind == SyncKind::kCreate) continue;
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

TEST_P(EachOpenMp, WaitsOfATeamAreEventsOfItsThreads) {
  const SyncFolder folder;
  OutputOf(OpenMp(GetParam(), "criticals", 3, 1), folder.Preloaded());
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

TEST_P(EachOpenMp, LocksAreCounted) {
  const SyncFolder folder;
  EXPECT_EQ(OutputOf(OpenMp(GetParam(), "locks", 3, 1000), folder.Preloaded()),
            OutputOf(OpenMp(GetParam(), "locks", 3, 1000), {}));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(Sums(&collected)[SyncKind::kMutex].count, 3u * 1000 * 3 + 3) << "and those by the tests at the end";
}

TEST_P(EachOpenMp, AtLevelOffNothingIsRecorded) {
  const SyncFolder folder;
  EXPECT_EQ(OutputOf(OpenMp(GetParam(), "criticals", 3, 100), folder.Preloaded("off")), "criticals 300 300 300\n");
  Collected collected(folder);
  collected.Finish();
  EXPECT_THAT(Sums(&collected), testing::IsEmpty());
  EXPECT_EQ(collected.Accounted(), 0u);
}

/// Whatever was begun at one level and ended at another: nobody waits longer than the program lives.
TEST_P(EachOpenMp, TheLevelIsChangedWhileItRuns) {
  const SyncFolder folder;
  Program program(OpenMp(GetParam(), "all", 4, 2000), folder.Preloaded("off"));
  Collected collected(folder);
  uint32_t level = wire::kRingLevelOff;
  while (!program.Ended()) {
    collected.Drain(false, UINT64_MAX);
    level = level == wire::kRingLevelBlame ? uint32_t{wire::kRingLevelOff} : level + 1;
    for (auto& [name, reader] : collected.Readers()) EXPECT_TRUE(reader.SetLevel(level).ok());
  }
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  ASSERT_EQ(collected.Readers().size(), 1u);
  const uint64_t start = collected.Readers().begin()->second.Identity().attach_ticks;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != wire::EventKind::kWait) continue;
    EXPECT_LE(record.a, record.ticks - start) << record.b;
  }
}

class OpenMpLibrary : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(OpenMp, OpenMpLibrary, testing::Values("openmp_plugin", "openmp_outer", "openmp_plugin_llvm"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(OpenMpLibrary, WhoseRuntimeOnlyItSeesIsItsOwn) {
  const std::string library = std::string(GetParam()) + ".so";
  ATTUNE_NEEDS(library);
  const SyncFolder folder;
  const std::vector<std::string> command = {Path("sync_scenarios"), "openmp_plugin", Path(library)};
  const std::string alone = OutputOf(command, {});
  EXPECT_EQ(alone, "3000\n");
  EXPECT_EQ(OutputOf(command, folder.Preloaded()), alone);
  EXPECT_EQ(OutputOf(command, {{"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}}), alone);
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_EQ(sums[SyncKind::kCritical].count, 3000u);
  EXPECT_EQ(sums[SyncKind::kMutex].count, 3000u);
  EXPECT_EQ(sums[SyncKind::kTeamBarrier].count, 3u);
}

TEST(OpenMp, ALibraryThatDoesWithoutARuntimeStillDoes) {
  ATTUNE_NEEDS("openmp_weak.so");
  const SyncFolder folder;
  const std::vector<std::string> command = {Path("sync_scenarios"), "openmp_plugin", Path("openmp_weak.so")};
  EXPECT_EQ(OutputOf(command, {}), "3000\n");
  EXPECT_EQ(OutputOf(command, folder.Preloaded()), "3000\n");
}

/// How many times threads of a team have waited for each other, as far as we were told.
uint64_t TeamBarriers(const SyncFolder& folder) {
  Collected collected(folder);
  collected.Finish();
  return Sums(&collected)[SyncKind::kTeamBarrier].contended;
}

TEST(OpenMp, AToolInTheProgramStaysTheTool) {
  ATTUNE_NEEDS("openmp_tool");
  const std::string alone = OutputOf({Path("openmp_tool")}, {});
  EXPECT_EQ(alone, "15\nanother tool saw 5 regions\n");
  const SyncFolder folder;
  EXPECT_EQ(OutputOf({Path("openmp_tool")}, folder.Preloaded()), alone);
  EXPECT_EQ(TeamBarriers(folder), 0u);
}

TEST(OpenMp, AToolOfTheUsersStaysTheTool) {
  ATTUNE_NEEDS("openmp_tool.so");
  const auto command = OpenMp("openmp_program_llvm", "criticals", 3, 10);
  const std::string tool = Path("openmp_tool.so");
  const std::string expected = "criticals 30 30 30\nanother tool saw 1 regions\n";
  EXPECT_EQ(OutputOf(command, {{"OMP_TOOL_LIBRARIES", tool}}), expected);
  EXPECT_EQ(OutputOf(command, {{"LD_PRELOAD", tool}}), expected);
  const SyncFolder named, preloaded;
  Program::Environment environment = named.Preloaded();
  environment.emplace_back("OMP_TOOL_LIBRARIES", tool);
  EXPECT_EQ(OutputOf(command, environment), expected);
  EXPECT_EQ(TeamBarriers(named), 0u);
  environment = preloaded.Preloaded();
  environment.emplace_back("LD_PRELOAD", ATTUNE_PROBE_LIBRARY ":" + tool);
  EXPECT_EQ(OutputOf(command, environment), expected);
  EXPECT_EQ(TeamBarriers(preloaded), 0u);
}

}  // namespace
}  // namespace attune::openmp_test
