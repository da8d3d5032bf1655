// Files that are written at once: what there was stays where the new text has no room.

#include "base/whole_file.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace attune {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public testing::Test {
 protected:
  WholeFileTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~WholeFileTest() override { fs::remove_all(folder_); }

  std::string Text() const {
    std::stringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  std::string path() const { return folder_ + "/file"; }

  std::string folder_ = "/tmp/attune-file-XXXXXX";
};

TEST_F(WholeFileTest, TakesThePlaceOfWhatWasThere) {
  ASSERT_TRUE(WriteFile(path(), "first, and longer").ok());
  ASSERT_TRUE(ReplaceFile(path(), "second").ok());
  EXPECT_EQ(Text(), "second");
  EXPECT_FALSE(fs::exists(path() + ".new"));
}

TEST_F(WholeFileTest, WhatWasThereStaysWhereTheNewTextHasNoRoom) {
  ASSERT_TRUE(WriteFile(path(), "first").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{3, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = ReplaceFile(path(), "second");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(Text(), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(WholeFileTest, SaysWhichFileItWas) {
  const Status status = WriteFile(folder_ + "/none/file", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("/none/file: No such file"));
}

}  // namespace
}  // namespace attune
