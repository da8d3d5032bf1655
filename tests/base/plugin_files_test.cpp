#include "base/plugin_files.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace attune {
namespace {

namespace fs = std::filesystem;

TEST(PluginFiles, TheFirstOfANameCountsAndOthersFilesAreLeftOut) {
  std::string name = (fs::temp_directory_path() / "attune-plugins-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  fs::create_directories(folder / "mine");
  fs::create_directories(folder / "all");
  for (const char* file : {"mine/b.so", "all/b.so", "all/a.toml", "all/open.so", "all/notes.txt"})
    std::ofstream(folder / file) << "x";
  for (const char* file : {"mine/b.so", "all/b.so", "all/a.toml"}) fs::permissions(folder / file, fs::perms(0644));
  fs::permissions(folder / "all/open.so", fs::perms(0666));
  const std::vector<std::string> folders{folder / "mine", folder / "nowhere", folder / "all"};
  const auto found = FindPluginFiles(folders, {".so", ".toml"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[1].file, folder / "mine/b.so");
  EXPECT_EQ(FindPluginFiles(folders, {".so"}).size(), 1u);
  fs::remove_all(folder);
}

TEST(PluginFiles, TheFirstEqualsSignSplits) {
  EXPECT_EQ(SplitAtEquals("name").rest, "");
  EXPECT_EQ(SplitAtEquals("name=a=b").name, "name");
  EXPECT_EQ(SplitAtEquals("name=a=b").rest, "a=b");
  EXPECT_EQ(SplitAtEquals("=a").name, "");
}

}  // namespace
}  // namespace attune
