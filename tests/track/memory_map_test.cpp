#include "track/memory_map.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace attune::track {
namespace {

using testing::ElementsAre;

TEST(MemoryMap, HasTheStretchesThatAreFiles) {
  const auto map = ParseMemoryMap(
      "7f1000000000-7f1000028000 r--p 00000000 fe:00 99                         /usr/lib/lib with space.so\n"
      "55d0c0a00000-55d0c0a02000 r-xp 00001000 fe:00 1234                       /usr/bin/solver\n"
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
      "7ffd00040000-7ffd00042000 r-xp 00000000 00:00 0                          [vdso]\n");
  EXPECT_THAT(map, ElementsAre(MappedFile{0x55d0c0a00000, 0x55d0c0a02000, 0x1000, "/usr/bin/solver", 1234},
                               MappedFile{0x7f1000000000, 0x7f1000028000, 0, "/usr/lib/lib with space.so", 99},
                               MappedFile{0x7ffd00040000, 0x7ffd00042000, 0, "[vdso]"}));
  EXPECT_EQ(FindMapped(map, 0x55d0c0a00000), &map[0]);
  EXPECT_EQ(FindMapped(map, 0x55d0c0a01fff), &map[0]);
  EXPECT_EQ(FindMapped(map, 0x55d0c0a02000), nullptr);
  EXPECT_EQ(FindMapped(map, 0), nullptr);
  EXPECT_EQ(FindMapped(map, 0x7f1000000001), &map[1]);
}

TEST(MemoryMap, LeavesOutWhatMakesNoSense) {
  for (const char* text : {"", "\n", "x", "10-20", "20-10 r--p 0 0:0 0 /a", "10-20 r--p zz 0:0 0 /a", "10-20 r--p 0",
                           "10-20 r--p 0 00:00 0", "-20 r--p 0 0:0 0 /a", "fffffffffffffffff-1 r--p 0 0:0 0 /a"}) {
    EXPECT_TRUE(ParseMemoryMap(text).empty()) << text;
  }
  EXPECT_EQ(ParseMemoryMap("10-20 r--p 0 0:0 0 /a").size(), 1u) << "also without an end of line";
}

TEST(MemoryMap, OfThisProcessHasThisCode) {
  const auto map = ReadMemoryMap(HostRoot(), getpid());
  ASSERT_TRUE(map.ok()) << map.error().message;
  const MappedFile* here = FindMapped(*map, reinterpret_cast<uintptr_t>(&ParseMemoryMap));
  ASSERT_NE(here, nullptr);
  EXPECT_NE(here->path.find("memory_map_test"), std::string::npos) << here->path;
  EXPECT_EQ(ReadMemoryMap(HostRoot(), -1).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace attune::track
