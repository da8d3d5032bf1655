#include "base/cpu_set.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(CpuSet, ParsesAndPrintsTheKernelsListFormat) {
  const auto set = CpuSet::Parse("8,0-3,10-11\n");
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->size(), 7u);
  EXPECT_TRUE(set->Contains(8));
  EXPECT_FALSE(set->Contains(4));
  EXPECT_EQ(set->ToString(), "0-3,8,10-11");
  EXPECT_TRUE(CpuSet::Parse("")->empty());
}

TEST(CpuSet, RefusesNonsense) {
  for (const char* text : {"a", "3-1", "1,,2", "-1", "99999999999", "1-", "0x1"})
    EXPECT_FALSE(CpuSet::Parse(text).ok()) << text;
}

TEST(CpuSet, HasInCommon) {
  const CpuSet a = *CpuSet::Parse("0-3,8"), b = *CpuSet::Parse("2-8");
  EXPECT_EQ(a.Common(b).ToString(), "2-3,8");
  EXPECT_TRUE(a.Common(CpuSet()).empty());
}

TEST(CpuSet, PinsToAllowedCpus) {
  const CpuSet allowed = CpuSet::Allowed();
  ASSERT_FALSE(allowed.empty());
  EXPECT_TRUE(allowed.PinThisThread().ok());
  EXPECT_FALSE(CpuSet().PinThisThread().ok());
}

}  // namespace
}  // namespace attune
