#include "sensor/text/scan.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "model/schema.h"
#include "sensor/text/number_file.h"

namespace attune::sensor::scan_test {
namespace {

using attune::fakes::FakeHost;
using model::kAbsent;

int64_t Decimal(std::string_view text, int digits) {
  const char* at = text.data();
  return ScanDecimal(at, text.data() + text.size(), digits);
}

TEST(Scan, DecimalsHaveTheDigitsThatAreAskedFor) {
  EXPECT_EQ(Decimal("12.07", 2), 1207);
  EXPECT_EQ(Decimal("12.1", 2), 1210);
  EXPECT_EQ(Decimal("12", 2), 1200);
  EXPECT_EQ(Decimal("12.", 2), 1200);
  EXPECT_EQ(Decimal("0.999", 2), 99);
  EXPECT_EQ(Decimal("-0.50", 2), -50);
  EXPECT_EQ(Decimal(".5", 2), kAbsent);
  EXPECT_EQ(Decimal("", 2), kAbsent);
  EXPECT_EQ(Decimal("x", 2), kAbsent);
  EXPECT_EQ(Decimal("9223372036854775807", 2), kAbsent) << "does not fit";
}

TEST(Scan, DecimalMovesPastTheWholeNumber) {
  const std::string_view text = "1.23456 7";
  const char* at = text.data();
  EXPECT_EQ(ScanDecimal(at, text.data() + text.size(), 1), 12);
  EXPECT_EQ(*at, ' ');
}

TEST(Scan, NumbersWrapAsTheKernels) {
  EXPECT_EQ(NumberOf("  42\n"), 42);
  EXPECT_EQ(NumberOf("18446744073709551615"), -1);
  EXPECT_EQ(NumberOf("Unavailable\n"), kAbsent);
  EXPECT_EQ(NumberOf("-"), kAbsent);
  EXPECT_EQ(NumberOf(""), kAbsent);
}

TEST(Scan, LinesWithAndWithoutTheLastNewline) {
  std::string_view text = "a\n\nb";
  EXPECT_EQ(NextLine(text), "a");
  EXPECT_EQ(NextLine(text), "");
  EXPECT_EQ(NextLine(text), "b");
  EXPECT_TRUE(text.empty());
}

TEST(NumberFile, ReadsWhatTheFileSaysNow) {
  FakeHost host;
  EXPECT_EQ(NumberFile().Read(), kAbsent);
  EXPECT_EQ(NumberFile::Open(host.Root(), "/sys/n").error().code, Errc::kNotFound);
  host.Write("/sys/n", "17\n");
  const auto file = NumberFile::Open(host.Root(), "/sys/n");
  EXPECT_EQ(file->Read(), 17);
  host.Write("/sys/n", "Unavailable\n");
  EXPECT_EQ(file->Read(), kAbsent);
  host.Write("/sys/n", "");
  EXPECT_EQ(file->Read(), kAbsent);
  EXPECT_EQ(ReadNumber(host.Root(), "/sys/other"), kAbsent);
  EXPECT_EQ(ReadWord(host.Write("/sys/name", "package-0 \n").Root(), "/sys/name"), "package-0");
  EXPECT_EQ(ReadWord(host.Root(), "/sys/other"), "");
}

}  // namespace
}  // namespace attune::sensor::scan_test
