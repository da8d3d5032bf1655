#include "base/user_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/whole_file.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 65534;

class UserFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/attune-user-file-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    std::ofstream(folder_ + "/text") << "hello";
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(UserFile, ARegularFileIsReadByAnyPathToIt) {
  fs::create_directory(At("sub"));
  fs::create_symlink("../text", At("sub/link"));
  fs::create_directory_symlink("sub", At("subs"));
  for (const char* name : {"text", "./text", "sub/../text", "sub/link", "subs/link", "subs//./link"})
    EXPECT_EQ(ReadUserFile(At(name), 5).value_or("?"), "hello") << name;
  EXPECT_EQ(ReadUserFile(At("text"), 4).error().code, Errc::kInvalidArgument);
}

TEST_F(UserFile, NothingElseIsOpenedAndNothingIsWaitedFor) {
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", At("link"));
  fs::create_symlink("loop", At("loop"));
  EXPECT_NE(OpenUserFile(At("fifo")).error().message.find("FIFO"), std::string::npos);
  EXPECT_EQ(OpenUserFile(At("link")).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(OpenUserFile(folder_).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(OpenUserFile("/dev/null").error().code, Errc::kInvalidArgument);
  EXPECT_EQ(OpenUserFile(At("none")).error().code, Errc::kNotFound);
  EXPECT_FALSE(OpenUserFile(At("loop")).ok());
  EXPECT_FALSE(OpenUserFile("").ok());
}

TEST_F(UserFile, DescriptorsOfTheProcessCanBeNamed) {
  const auto opened = OpenUserFile(At("text"));
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(OpenUserFile("/dev/fd/" + std::to_string(opened->get())).ok());
}

TEST_F(UserFile, RootFollowsNoLinkOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_directory(At("shared"));
  ASSERT_EQ(chmod(At("shared").c_str(), 0777), 0);
  for (const char* name : {"shared/file", "shared/folder"}) {
    fs::create_symlink(name == std::string("shared/file") ? At("text") : folder_, At(name));
    ASSERT_EQ(lchown(At(name).c_str(), kSomebody, kSomebody), 0);
  }
  EXPECT_EQ(OpenUserFile(At("shared/file")).error().code, Errc::kPermission);
  EXPECT_EQ(OpenUserFile(At("shared/folder/text")).error().code, Errc::kPermission);
  EXPECT_EQ(WriteFile(At("shared/folder/text"), "x").error().code, Errc::kPermission);
  EXPECT_FALSE(WriteFile(At("shared/file"), "x").ok());
  EXPECT_EQ(ReadUserFile(At("text"), 5).value_or("?"), "hello");
}

TEST_F(UserFile, WritingFollowsNoLinkAtItsEnd) {
  fs::create_symlink("text", At("link"));
  EXPECT_FALSE(WriteFile(At("link"), "x").ok());
  EXPECT_TRUE(ReplaceFile(At("link"), "x").ok());  // the link itself gives way
  EXPECT_EQ(ReadUserFile(At("text"), 5).value_or("?"), "hello");
  EXPECT_EQ(ReadUserFile(At("link"), 5).value_or("?"), "x");
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(ReplaceFile(At("fifo"), "x").ok());
}

TEST(OnlyRootCanChange, LooksAtEveryFolder) {
  EXPECT_TRUE(OnlyRootCanChange("/usr/bin/env"));
  EXPECT_FALSE(OnlyRootCanChange("/tmp"));
  EXPECT_FALSE(OnlyRootCanChange("/usr/bin/../bin/env"));
  EXPECT_FALSE(OnlyRootCanChange("/is/not/there"));
}

}  // namespace
}  // namespace attune
