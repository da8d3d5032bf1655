#include "session/job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace attune::session {
namespace {

using namespace std::string_literals;

TEST(RankFromEnvironment, KnowsTheLaunchers) {
  EXPECT_EQ(RankFromEnvironment("A=1\0OMPI_COMM_WORLD_RANK=3\0B=2\0"s), 3);
  EXPECT_EQ(RankFromEnvironment("PMI_RANK=0\0"s), 0);
  EXPECT_EQ(RankFromEnvironment("SLURM_PROCID=12"s), 12);
  EXPECT_EQ(RankFromEnvironment("XPMI_RANK=1\0PMI_RANK=x\0PMI_RANK=-4\0"s), -1);
  EXPECT_EQ(RankFromEnvironment(""), -1);
}

/// Sessions of this test live in a folder of its own.
class Sessions : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = "/tmp/attune-job-test-" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    unsetenv("XDG_RUNTIME_DIR");
  }
  SessionInfo Write(const std::string& id, pid_t pid, uint64_t start_ticks) {
    SessionInfo info{.id = id,
                     .key = "own:" + id,
                     .pid = pid,
                     .start_ticks = start_ticks,
                     .folder = *SessionBase() + "/" + id,
                     .program = "xz"};
    std::filesystem::create_directory(info.folder);
    info.recording = info.folder + "/recording.attune";
    info.temporary = true;
    std::ofstream(info.recording) << "x";
    std::ofstream(info.folder + "/info.json") << ToJson(info);
    return info;
  }
  std::string folder_;
};

TEST_F(Sessions, LiveOnesAreFoundAndDeadOnesAreCollected) {
  const SessionInfo live = Write("11", getpid(), StartTicks(getpid()));
  const SessionInfo reused =
      Write("12", getpid(), StartTicks(getpid()) + 1);  // the pid lives, but it is another process
  const SessionInfo dead = Write("13", 0x7ffffff0, 5);
  const auto sessions = LiveSessions();
  ASSERT_TRUE(sessions.ok());
  ASSERT_EQ(sessions->size(), 1u);
  EXPECT_EQ(sessions->front().id, "11");
  EXPECT_EQ(sessions->front().recording, live.recording);
  EXPECT_FALSE(std::filesystem::exists(reused.folder));
  EXPECT_FALSE(std::filesystem::exists(dead.folder));
  EXPECT_EQ(FindSession("")->id, "11");
  EXPECT_EQ(FindSession("12").error().code, Errc::kNotFound);
}

TEST_F(Sessions, NoneIsAClearError) {
  const auto found = FindSession("");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Errc::kNotFound);
  EXPECT_NE(found.error().hint.find("attune run"), std::string::npos);
}

TEST_F(Sessions, SomebodyElsesFolderIsRefused) {
  const std::string base = *SessionBase();
  ASSERT_EQ(chmod(base.c_str(), 0777), 0);
  EXPECT_EQ(SessionBase().error().code, Errc::kPermission);
}

TEST_F(Sessions, AJobIsKnownByItsLauncher) {
  setenv("PMIX_NAMESPACE", "job-7", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
  const Job job = FindJob(HostRoot());
  EXPECT_EQ(job.key, "pmix:job-7");
  EXPECT_EQ(job.local_ranks, 8);
  unsetenv("PMIX_NAMESPACE");
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  unsetenv("SLURM_JOB_ID");  // of the job that runs the tests
  EXPECT_TRUE(FindJob(HostRoot()).key.starts_with("own:" + std::to_string(getpid())));
}

TEST(SessionInfo, ForeignTextIsRefused) {
  for (const char* text : {"", "{}", "[]", "nonsense", R"({"pid":"x","start_ticks":1})", R"({"pid":1})",
                           R"({"pid":1,"start_ticks":-1})"}) {
    EXPECT_FALSE(SessionInfoFromJson(text).ok()) << text;
  }
}

}  // namespace
}  // namespace attune::session
