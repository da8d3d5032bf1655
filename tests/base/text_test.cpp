#include "base/text.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(CleanText, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(CleanText("na\xc3\xafve \xe2\x82\xac"), "na\xc3\xafve \xe2\x82\xac");
  EXPECT_EQ(CleanText("a\nb\x1b[0m\x7f"), "a?b?[0m?");
  EXPECT_EQ(CleanText("\xff\xc3"), "??");
  EXPECT_EQ(CleanText("\xc2\x9b"), "?") << "a control character in two bytes";
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "???") << "a surrogate";
}

TEST(CsvField, QuotesWhatNeedsIt) {
  EXPECT_EQ(CsvField("read MB/s"), "read MB/s");
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(CsvField("two\r\nlines"), "\"two\r\nlines\"");
}

}  // namespace
}  // namespace attune
