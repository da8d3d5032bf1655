// Files that are written at once: what there was stays where the new text has no room.

#include "base/whole_file.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

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

TEST_F(WholeFileTest, WhatWasThereStaysOnAFullDisk) {
  ASSERT_TRUE(WriteFile(path(), "first").ok());
  ASSERT_EQ(symlink("/dev/full", (path() + ".new").c_str()), 0);
  const Status status = ReplaceFile(path(), "second");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Errc::kNoSpace) << status.error().message;
  EXPECT_EQ(Text(), "first");
  EXPECT_FALSE(fs::exists(path() + ".new"));
}

TEST_F(WholeFileTest, SaysWhichFileItWas) {
  const Status status = WriteFile(folder_ + "/none/file", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("/none/file: No such file"));
}

}  // namespace
}  // namespace attune
