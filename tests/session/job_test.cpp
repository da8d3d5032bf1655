#include "session/core/job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "session/core/session_folders.h"

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
  /// A session whose folder is locked by somebody else, or by nobody.
  SessionInfo Write(const std::string& id, bool lives) {
    SessionInfo info{.id = id, .key = "own:" + id, .pid = 1, .folder = *SessionBase() + "/" + id, .program = "xz"};
    std::filesystem::create_directory(info.folder);
    if (lives) {
      locks_.emplace_back(open(info.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      EXPECT_EQ(flock(locks_.back().get(), LOCK_EX), 0);
    }
    info.recording = info.folder + "/recording.attune";
    info.temporary = true;
    std::ofstream(info.recording) << "x";
    std::ofstream(info.folder + "/info.json") << ToJson(info);
    return info;
  }
  std::string folder_;
  std::vector<UniqueFd> locks_;
};

// A pid says nothing of a session in another PID namespace: here all have the same.
TEST_F(Sessions, LiveOnesAreFoundAndDeadOnesAreCollected) {
  const SessionInfo live = Write("11", true);
  const SessionInfo dead = Write("13", false);
  const auto sessions = LiveSessions();
  ASSERT_TRUE(sessions.ok());
  ASSERT_EQ(sessions->size(), 1u);
  EXPECT_EQ(sessions->front().id, "11");
  EXPECT_EQ(sessions->front().recording, live.recording);
  EXPECT_FALSE(std::filesystem::exists(dead.folder));
  EXPECT_EQ(FindSession("")->id, "11");
  EXPECT_EQ(FindSession("12").error().code, Errc::kNotFound);
}

TEST_F(Sessions, WhatDeadOnesLeftCanBeLookedAt) {
  const SessionInfo live = Write("11", true);
  const SessionInfo dead = Write("13", false);
  const auto of_this_test = [&](const SessionFolders& folders) {
    std::vector<AbandonedFolder> found;
    for (const AbandonedFolder& folder : folders.abandoned) {
      if (folder.path.starts_with(folder_)) found.push_back(folder);
    }
    return found;
  };
  const auto looked = CollectAbandoned(Abandoned::kKeep);
  ASSERT_TRUE(looked.ok());
  EXPECT_EQ(looked->living, std::vector<std::string>{live.folder});
  ASSERT_EQ(of_this_test(*looked).size(), 1u);
  EXPECT_EQ(of_this_test(*looked)[0].path, dead.folder);
  EXPECT_FALSE(of_this_test(*looked)[0].is_rings);
  EXPECT_GT(of_this_test(*looked)[0].bytes, 0u);
  EXPECT_TRUE(std::filesystem::exists(dead.folder));

  const auto collected = CollectAbandoned(Abandoned::kRemove);
  ASSERT_TRUE(collected.ok());
  EXPECT_TRUE(of_this_test(*collected)[0].removed.ok());
  EXPECT_FALSE(std::filesystem::exists(dead.folder));
  EXPECT_TRUE(std::filesystem::exists(live.folder));
  EXPECT_TRUE(of_this_test(*CollectAbandoned(Abandoned::kKeep)).empty());
}

TEST_F(Sessions, TheFolderOfALiveOneKeepsItsName) {
  auto first = MakeSessionFolder("7");
  ASSERT_TRUE(first.ok());
  const auto second = MakeSessionFolder("7");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->path(), first->path() + "-2");
  EXPECT_TRUE(CollectAbandoned(Abandoned::kRemove).ok());
  EXPECT_TRUE(std::filesystem::exists(first->path()));
  first->Remove();
  EXPECT_FALSE(std::filesystem::exists(first->path()));
}

TEST_F(Sessions, RingsOfEndedSessionsAreCollected) {
  auto rings = MakeRingFolder(folder_ + "/rings");
  ASSERT_TRUE(rings.ok());
  EXPECT_TRUE(CollectAbandoned(Abandoned::kRemove).ok());
  EXPECT_TRUE(std::filesystem::exists(rings->path()));
  const std::string path = rings->path();
  {
    const OwnedFolder ended = *std::move(rings);
  }
  EXPECT_TRUE(CollectAbandoned(Abandoned::kRemove).ok());
  EXPECT_EQ(std::filesystem::exists(path), path.starts_with(folder_)) << path;
}

TEST_F(Sessions, NoneIsAClearError) {
  const auto found = FindSession("");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Errc::kNotFound);
  EXPECT_NE(found.error().hint.find("attune run"), std::string::npos);
}

TEST_F(Sessions, AFolderThatOthersCanWriteToIsNotUsed) {
  const std::string base = *SessionBase();
  ASSERT_EQ(chmod(base.c_str(), 0777), 0);
  EXPECT_NE(*SessionBase(), base);
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
  const std::string own = FindJob(HostRoot()).key;
  EXPECT_TRUE(own.starts_with("own:") && own.find(":" + std::to_string(getpid()) + ":") != std::string::npos) << own;
}

TEST(SessionInfo, ForeignTextIsRefused) {
  for (const char* text : {"", "{}", "[]", "nonsense", R"({"pid":"x"})", R"({"pid":1.5})"}) {
    EXPECT_FALSE(SessionInfoFromJson(text).ok()) << text;
  }
}

}  // namespace
}  // namespace attune::session
