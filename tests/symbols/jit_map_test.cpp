#include "symbols/jit_map.h"

#include <gtest/gtest.h>

namespace attune::symbols {
namespace {

std::string NameAt(const JitMap& map, uint64_t address) {
  const JitFunction* function = map.At(address);
  return function == nullptr ? "" : function->name;
}

TEST(JitMap, NamesByAddress) {
  const JitMap map(
      "7f0000001000 20 LazyCompile:~add file.js:1\n"
      "0x7f0000000000 0x10 Builtin\n"
      "7f0000001000 30 LazyCompile:*add file.js:1\n"
      "7f0000002000 0 empty\n"
      "zz 10 nonsense\n"
      "7f0000003000 10\n"
      "7f0000004000 8 last");
  EXPECT_EQ(NameAt(map, 0x7f000000000f), "Builtin");
  EXPECT_EQ(NameAt(map, 0x7f0000000010), "");
  EXPECT_EQ(NameAt(map, 0x7f000000102f), "LazyCompile:*add file.js:1") << "the last of a place";
  EXPECT_EQ(NameAt(map, 0x7f0000002000), "");
  EXPECT_EQ(NameAt(map, 0x7f0000003000), "");
  EXPECT_EQ(NameAt(map, 0x7f0000004007), "last") << "without an end of line";
  EXPECT_EQ(NameAt(JitMap(""), 0), "");
}

}  // namespace
}  // namespace attune::symbols
