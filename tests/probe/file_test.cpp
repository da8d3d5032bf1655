// Programs that read and write files, with the probe preloaded: they behave as without it, and calls that took long are
// recorded.

#include <gmock/gmock.h>

#include "sync_run.h"

namespace attune {
namespace {

using wire::EventKind;
using wire::SyncKind;

std::vector<std::string> Scenario(const std::string& name) {
  return {std::string(ATTUNE_PROBE_PROGRAMS) + "/files", name};
}

class FileBehaviour : public testing::TestWithParam<const char*> {};

TEST_P(FileBehaviour, IsThatOfTheProgramAlone) {
  Program alone(Scenario(GetParam()), {});
  ASSERT_TRUE(ExitedWell(alone.Wait()));
  EXPECT_FALSE(alone.Output().empty());
  for (const char* level : {"off", "profile", "blame"}) {
    const SyncFolder folder;
    Program observed(Scenario(GetParam()), folder.Preloaded(level));
    EXPECT_TRUE(ExitedWell(observed.Wait()));
    EXPECT_EQ(observed.Output(), alone.Output()) << level;
  }
  Program unobserved(Scenario(GetParam()), {{"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}});
  EXPECT_TRUE(ExitedWell(unobserved.Wait()));
  EXPECT_EQ(unobserved.Output(), alone.Output());
}

INSTANTIATE_TEST_SUITE_P(Files, FileBehaviour, testing::Values("all", "waits", "left"),
                         [](const auto& test) { return std::string(test.param); });

/// By the site of the call: how often it took long.
std::map<uint64_t, int> LongCalls(const std::string& scenario, const std::string& level) {
  const SyncFolder folder;
  Program program(Scenario(scenario), folder.Preloaded(level));
  const int pid = program.pid();
  EXPECT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  std::map<uint64_t, int> calls;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != EventKind::kWait || record.b != static_cast<uint64_t>(SyncKind::kFile)) continue;
    EXPECT_GE(record.object, 1u) << "a descriptor and one more";
    EXPECT_LT(record.object, 100u);
    if (record.tid != pid) ++calls[record.site];
  }
  return calls;
}

TEST(Files, CallsThatTookLongAreRecorded) {
  const auto calls = LongCalls("waits", "profile");
  EXPECT_EQ(calls.size(), 4u) << "three ways to read, one to write";
  for (const auto& [site, count] : calls) EXPECT_EQ(count, 1);
  EXPECT_THAT(LongCalls("waits", "off"), testing::IsEmpty());
}

TEST(Files, CallsThatWereLeftAreNotRecorded) { EXPECT_THAT(LongCalls("left", "profile"), testing::IsEmpty()); }

}  // namespace
}  // namespace attune
