#include "base/units.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

Result<int64_t> Interval(std::string_view text) {
  return ParseIntervalNs(text, "--interval", 100'000, 3'600'000'000'000);
}
Result<int64_t> Duration(std::string_view text) { return ParseDurationNs(text, "--for", 1'000'000, 3'600'000'000'000); }

TEST(ParseDuration, TakesNoRates) {
  EXPECT_EQ(*Duration("10ms"), 10'000'000);
  for (const char* text : {"100Hz", "1kHz"}) {
    ASSERT_FALSE(Duration(text).ok());
    EXPECT_NE(Duration(text).error().message.find("is a rate"), std::string::npos);
    EXPECT_EQ(Duration(text).error().hint.find("Hz"), std::string::npos) << "as in another rate";
  }
}

TEST(ParseInterval, ReadsTimesAndRates) {
  EXPECT_EQ(*Interval("10ms"), 10'000'000);
  EXPECT_EQ(*Interval("0.5s"), 500'000'000);
  EXPECT_EQ(*Interval("250 us"), 250'000);
  EXPECT_EQ(*Interval("1kHz"), 1'000'000);
  EXPECT_EQ(*Interval("2m"), 120'000'000'000);
}

TEST(ParseInterval, RefusesWhatMakesNoSenseAndNamesTheOption) {
  for (const char* text :
       {"0ms", "-5ms", "fast", "", "10", "10 parsecs", "1e300s", "nan", "infs", "99999h", "1ns", "0Hz", "-1Hz"}) {
    const auto result = Interval(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument) << text;
    EXPECT_NE(result.error().message.find("--interval"), std::string::npos) << text;
    EXPECT_FALSE(result.error().hint.empty()) << text;
  }
}

TEST(ParseBytes, ReadsBinarySizes) {
  EXPECT_EQ(*ParseBytes("64MB", "--max-size"), 64u << 20);
  EXPECT_EQ(*ParseBytes("1.5k", "--max-size"), 1536u);
  EXPECT_EQ(*ParseBytes("64K", "--max-size"), 64u << 10);
  EXPECT_FALSE(ParseBytes("-1MB", "--max-size").ok());
  EXPECT_FALSE(ParseBytes("big", "--max-size").ok());
}

TEST(NearestNames, FindsTyposAndParts) {
  const std::vector<std::string> names{"vmstat", "cpu", "meminfo"};
  EXPECT_EQ(DidYouMean("vmsat", names), "did you mean vmstat?");
  EXPECT_EQ(DidYouMean("mem", names), "did you mean meminfo?");
  EXPECT_EQ(DidYouMean("zzzzzzzzz", names), "");
}

TEST(Format, ChoosesTheUnitThatReadsWell) {
  EXPECT_EQ(FormatDuration(999), "999 ns");
  EXPECT_EQ(FormatDuration(999'499), "999 us");
  EXPECT_EQ(FormatDuration(999'600), "1 ms");
  EXPECT_EQ(FormatDuration(999'600'000), "1.00 s");
  EXPECT_EQ(FormatDuration(1'250'000'000), "1.25 s");
  EXPECT_EQ(FormatDuration(150'000'000'000), "2 min 30 s");
  EXPECT_EQ(FormatBytes(1536), "1.5 kB");
}

}  // namespace
}  // namespace attune
