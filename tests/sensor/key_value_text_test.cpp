#include "sensor/text/key_value_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "model/schema.h"

namespace attune::sensor::key_value_text_test {
namespace {

using model::kAbsent;
using testing::ElementsAre;

std::vector<int64_t> Parse(KeyValueText& text, std::string_view input) {
  std::vector<int64_t> values(text.Keys().size(), -7);
  text.Parse(input, values);
  return values;
}

TEST(KeyValueText, ReadsUnchangedGrownAndShrunkValues) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("a 1\nbb 22\nccc 333\n").ok());
  EXPECT_THAT(text.Keys(), ElementsAre("a", "bb", "ccc"));
  EXPECT_THAT(Parse(text, "a 1\nbb 22\nccc 333\n"), ElementsAre(1, 22, 333));
  EXPECT_THAT(Parse(text, "a 1\nbb 12345678\nccc 333\n"), ElementsAre(1, 12345678, 333));
  EXPECT_THAT(Parse(text, "a 100\nbb 2\nccc 333\n"), ElementsAre(100, 2, 333));
  EXPECT_THAT(Parse(text, "a 100\nbb 2\nccc 0\n"), ElementsAre(100, 2, 0));
}

TEST(KeyValueText, LearnsAgainWhenKeysMoveComeAndGo) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("a 1\nb 2\nc 3\n").ok());
  EXPECT_THAT(Parse(text, "c 30\na 10\nb 20\n"), ElementsAre(10, 20, 30));
  EXPECT_THAT(Parse(text, "a 11\nc 31\n"), ElementsAre(11, kAbsent, 31));
  EXPECT_THAT(Parse(text, "new 5\na 12\nb 22\nc 32\nlast 6\n"), ElementsAre(12, 22, 32));
  EXPECT_THAT(Parse(text, ""), ElementsAre(kAbsent, kAbsent, kAbsent));
  EXPECT_THAT(Parse(text, "a 13\nb 23\nc 33\n"), ElementsAre(13, 23, 33));
}

TEST(KeyValueText, TakesColonsAndSuffixesAndKeepsLinesWithoutNumbersOut) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("MemTotal:       100 kB\nheading\nHuge: x\nLow:\t-3\n").ok());
  EXPECT_THAT(text.Keys(), ElementsAre("MemTotal", "Low"));
  EXPECT_THAT(Parse(text, "MemTotal:       250 kB\nheading\nHuge: x\nLow:\t-4\n"), ElementsAre(250, -4));
}

TEST(KeyValueText, ValuesAlignedToTheRightGrowAndShrink) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("MemFree:    5 kB\nCached:    10 kB\n").ok());
  EXPECT_THAT(Parse(text, "MemFree: 1234 kB\nCached:    10 kB\n"), ElementsAre(1234, 10));
  EXPECT_THAT(Parse(text, "MemFree:    7 kB\nCached:   100 kB\n"), ElementsAre(7, 100));
}

TEST(KeyValueText, MalformedValuesAreAbsentAndLaterOnesAreRight) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("a 1\nb 2\n").ok());
  EXPECT_THAT(Parse(text, "a x\nb 3\n"), ElementsAre(kAbsent, 3));
  EXPECT_THAT(Parse(text, "a 5\nb 4\n"), ElementsAre(5, 4));
  EXPECT_THAT(Parse(text, "a 5\nb 4"), ElementsAre(5, kAbsent)) << "a cut line may lack digits";
  EXPECT_THAT(Parse(text, "a 18446744073709551615\nb 4\n"), ElementsAre(-1, 4)) << "the kernel's negative levels";
}

TEST(KeyValueText, TheFirstOfTwoKeysCounts) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("a 1\na 2\nb 3\n").ok());
  EXPECT_THAT(text.Keys(), ElementsAre("a", "b"));
  EXPECT_THAT(Parse(text, "a 4\na 5\nb 6\n"), ElementsAre(4, 6));
}

TEST(KeyValueText, NothingToReadIsAnError) {
  KeyValueText text;
  EXPECT_EQ(text.Learn("").error().code, Errc::kCorrupt);
  EXPECT_EQ(text.Learn("no numbers here\n").error().code, Errc::kCorrupt);
}

TEST(KeyValueText, IgnoresWhatIsBeyondItsCapacity) {
  KeyValueText text;
  ASSERT_TRUE(text.Learn("a 1\n").ok());
  std::string longer = "a 2\n";
  while (longer.size() <= text.Capacity()) longer += fmt::format("key{} 1\n", longer.size());
  EXPECT_THAT(Parse(text, longer), ElementsAre(2));
}

/// Against a parser that has no memory, over texts that change as real ones do.
TEST(KeyValueText, AgreesWithAPlainParserOverManyChanges) {
  std::mt19937 random(1);
  std::vector<int64_t> truth(60, 0);
  const auto print = [&] {
    std::string out;
    for (size_t i = 0; i < truth.size(); ++i) out += fmt::format("key_{} {}\n", i * 37, truth[i]);
    return out;
  };
  KeyValueText text;
  ASSERT_TRUE(text.Learn(print()).ok());
  for (int round = 0; round < 2000; ++round) {
    const int changes = static_cast<int>(random() % 6);
    for (int i = 0; i < changes; ++i)
      truth[random() % truth.size()] = static_cast<int64_t>(random() >> (random() % 32));
    ASSERT_EQ(Parse(text, print()), truth) << round;
  }
}

}  // namespace
}  // namespace attune::sensor::key_value_text_test
