// Programs that read and write files, with the probe preloaded: they behave as without it, and calls that took long are
// recorded.

#include <gmock/gmock.h>

#include <tuple>

#include "sync_run.h"

namespace attune::file_test {
namespace {

using wire::EventKind;
using wire::SyncKind;

std::vector<std::string> Scenario(const std::string& name, const std::string& program = "files") {
  return {std::string(ATTUNE_PROBE_PROGRAMS) + "/" + program, name};
}

class FileBehaviour : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(FileBehaviour, IsThatOfTheProgramAlone) {
  const auto [program, name] = GetParam();
  Program alone(Scenario(name), {});
  ASSERT_TRUE(ExitedWell(alone.Wait()));
  EXPECT_FALSE(alone.Output().empty());
  for (const char* level : {"off", "profile", "blame"}) {
    const SyncFolder folder;
    Program observed(Scenario(name, program), folder.Preloaded(level));
    EXPECT_TRUE(ExitedWell(observed.Wait()));
    EXPECT_EQ(observed.Output(), alone.Output()) << level;
  }
  Program unobserved(Scenario(name, program), {{"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}});
  EXPECT_TRUE(ExitedWell(unobserved.Wait()));
  EXPECT_EQ(unobserved.Output(), alone.Output());
}

INSTANTIATE_TEST_SUITE_P(Files, FileBehaviour,
                         testing::Combine(testing::Values("files", "files_static"),
                                          testing::Values("all", "waits", "left")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

/// By the site of the call: how often it took long.
std::map<uint64_t, int> LongCalls(const std::vector<std::string>& command, const std::string& level) {
  const SyncFolder folder;
  Program program(command, folder.Preloaded(level));
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
  for (const char* program : {"files", "files_static"}) {
    const auto command = Scenario("waits", program);
    const auto calls = LongCalls(command, "profile");
    EXPECT_EQ(calls.size(), 3u) << "three ways to read: " << program;
    for (const auto& [site, count] : calls) EXPECT_EQ(count, 1);
    EXPECT_THAT(LongCalls(command, "off"), testing::IsEmpty());
  }
}

TEST(Files, CallsThatWereLeftAreNotRecorded) {
  EXPECT_THAT(LongCalls(Scenario("left"), "profile"), testing::IsEmpty());
}

}  // namespace
}  // namespace attune::file_test
